package lanes

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"io"
	"time"

	"tcpwheel/wheel"
)

// Bounds of a log.
const (
	logEvery   = wheel.Time(250 * time.Millisecond) // between two frames
	wheelEvery = 4                                  // of its frames one has wheels
	chunkSpan  = wheel.Time(2 * time.Second)
	logBytes   = 32 << 20
	maxPast    = wheel.Time(30 * time.Second) // of one answer
)

// detail is how much a chunk of a log still has.
type detail int

const (
	wholeDetail detail = iota
	dataDetail         // no wheels, and no ACKs
	lossDetail         // of packets only lost and retransmitted ones, and one frame
)

// chunk is some seconds of a log: its frames as JSON, joined by commas and compressed.
type chunk struct {
	from, to wheel.Time
	data     []byte
	detail   detail
}

// history is the log of a run's frames, from its beginning on. Its memory is bounded.
type history struct {
	chunks []chunk
	open   []*Frame // of the chunk that is not closed yet
	viewer Viewer
	count  int // frames so far
	next   wheel.Time
	bytes  int // of chunks
	limit  int
	writer *flate.Writer
}

func newHistory() *history {
	writer, err := flate.NewWriter(nil, flate.DefaultCompression)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &history{limit: logBytes, writer: writer}
}

// due reports whether the log wants a frame of that time.
func (h *history) due(now wheel.Time) bool { return now >= h.next }

// add adds the frame of a time that is due.
func (h *history) add(frame *Frame) {
	f := h.viewer.Next(frame)
	h.next = f.Time + logEvery
	f.Policies, f.Begun, f.Initial = nil, nil, ""
	for i := range f.Lanes {
		if h.count%wheelEvery > 0 {
			f.Lanes[i].Wheel = nil
		}
		if len(h.open) > 0 {
			f.Lanes[i].RecoveryMS = nil
		}
	}
	h.count++
	h.open = append(h.open, f)
	if f.Time-h.open[0].Time < chunkSpan {
		return
	}
	data := h.pack(h.open)
	h.chunks = append(h.chunks, chunk{h.open[0].Time, f.Time, data, wholeDetail})
	h.open = nil
	for h.bytes += len(data); h.bytes > h.limit && h.thin(); {
	}
}

// pack encodes frames.
func (h *history) pack(all []*Frame) []byte {
	var b bytes.Buffer
	h.writer.Reset(&b)
	h.writer.Write(encode(all))
	h.writer.Close()
	return bytes.Clone(b.Bytes())
}

// encode returns frames as JSON, joined by commas.
func encode(all []*Frame) []byte {
	text, err := json.Marshal(all)
	if err != nil {
		panic("BUG: " + err.Error()) // numbers and texts
	}
	return text[1 : len(text)-1]
}

func (c *chunk) unpack() []byte {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(c.data)))
	if err != nil {
		panic("BUG: " + err.Error()) // written by pack
	}
	return text
}

// thin takes detail from a chunk: the oldest one with the most detail, but none of the latest
// tenth. It reports whether there was one.
func (h *history) thin() bool {
	best := -1
	for i := range h.chunks[:len(h.chunks)*9/10] {
		if d := h.chunks[i].detail; d < lossDetail && (best < 0 || d < h.chunks[best].detail) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	c := &h.chunks[best]
	var all []*Frame
	if err := json.Unmarshal(append(append([]byte{'['}, c.unpack()...), ']'), &all); err != nil {
		panic("BUG: " + err.Error())
	}
	c.detail++
	for _, f := range all {
		f.Detail = int(c.detail)
		for i := range f.Lanes {
			f.Lanes[i].thin(c.detail)
		}
	}
	if c.detail == lossDetail {
		all = join(all)
	}
	h.bytes -= len(c.data)
	c.data = h.pack(all)
	h.bytes += len(c.data)
	return true
}

// thin drops what a lane does not have at a detail.
func (v *LaneView) thin(d detail) {
	v.Wheel, v.Expired = nil, nil
	kept := v.Packets[:0]
	for _, x := range v.Packets {
		if d == dataDetail && x.End > x.Start || d == lossDetail && (x.Lost != "" || x.Again) {
			kept = append(kept, x)
		}
	}
	v.Packets = kept
	if d == lossDetail {
		v.Notes = nil
	}
}

// join puts the packets of all frames into the last of them, and drops the others.
func join(all []*Frame) []*Frame {
	last := all[len(all)-1]
	for i := range last.Lanes {
		var packets []*Transmission
		for _, f := range all {
			packets = append(packets, f.Lanes[i].Packets...)
		}
		last.Lanes[i].Packets, last.Lanes[i].RecoveryMS = packets, all[0].Lanes[i].RecoveryMS
	}
	return []*Frame{last}
}

// past returns the frames of a time as a JSON list: some before and after it are among them.
func (h *history) past(from, to wheel.Time) []byte {
	to = min(to, from+maxPast)
	out := []byte{'['}
	add := func(text []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	for i := range h.chunks {
		if c := &h.chunks[i]; c.to >= from && c.from <= to {
			add(c.unpack())
		}
	}
	if len(h.open) > 0 && h.open[0].Time <= to {
		add(encode(h.open))
	}
	return append(out, ']')
}

// Viewer is how far a page has seen the packets, notes and expiries of lanes.
type Viewer struct {
	seen     []cursor
	restarts int
}

// cursor is how far a viewer has seen the lists of a lane.
type cursor struct{ packets, notes, expiries uint64 }

// Next returns the frame as the viewer's next one.
func (v *Viewer) Next(frame *Frame) *Frame {
	f := *frame
	if f.Restarts != v.restarts || len(v.seen) != len(f.Lanes) {
		v.seen, v.restarts = make([]cursor, len(f.Lanes)), f.Restarts
	}
	f.Lanes = append([]LaneView(nil), f.Lanes...)
	for i := range f.Lanes {
		l, c := &f.Lanes[i], &v.seen[i]
		l.Packets, l.Notes = since(l.transmitted, &c.packets), since(l.noted, &c.notes)
		fresh := min(l.expiries-c.expiries, uint64(len(l.expired)))
		l.Expired, c.expiries = l.expired[uint64(len(l.expired))-fresh:], l.expiries
	}
	return &f
}
