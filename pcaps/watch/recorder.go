package watch

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// Recorder writes the packets of connections around their episodes to a rotating set of pcapng
// files, with comments that Wireshark shows. It holds the last packets in memory, at most 32 MiB
// and one minute of them, until it is known which belong to an episode. Packets of a longer episode
// that are older are missing in the file.
type Recorder struct {
	name     string
	rotation Rotation

	held     []heldFrame // a ring that begins at first
	first, n int
	slab     []byte // their bytes, a ring too
	end      int    // where the next frame goes
	comments map[int64]string

	out   *pcapng.Sink
	file  *pcapng.Writer
	links map[uint16]uint32 // interfaces of the file by link type
	err   error             // of writing; nothing is written after it
}

// heldFrame is a packet in memory.
type heldFrame struct {
	number    int64
	at        wheel.Time
	src, dst  netip.AddrPort
	from, to  int // in the slab
	length    uint32
	link      uint16
	direction capture.Direction
	wanted    bool
}

const (
	heldBytes = 32 << 20
	heldTime  = time.Minute
	around    = 100 * time.Millisecond // of a connection's packets, before and after an episode
)

// Record creates the file with that name. When it is full it becomes NAME.1.EXT, an older one
// NAME.2.EXT and so on.
func Record(name string, o Rotation) (*Recorder, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	r := &Recorder{name: name, rotation: o, slab: make([]byte, heldBytes), comments: map[int64]string{}}
	return r, r.create()
}

func (r *Recorder) at(i int) *heldFrame { return &r.held[(r.first+i)%len(r.held)] }

// add holds a packet.
func (r *Recorder) add(p *capture.Packet, f *capture.Frame) {
	if len(f.Data) > len(r.slab)/2 {
		return
	}
	from := r.end
	if from+len(f.Data) > len(r.slab) {
		from = 0
	}
	to := from + len(f.Data)
	for r.n > 0 && r.overlaps(r.at(0), from, to) {
		r.release()
	}
	if r.n == len(r.held) {
		grown := make([]heldFrame, max(1024, 2*r.n))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.held, r.first = grown, 0
	}
	copy(r.slab[from:to], f.Data)
	*r.at(r.n) = heldFrame{
		number: p.Number, at: f.Time, src: p.Src, dst: p.Dst, from: from, to: to, length: f.Length, link: f.LinkType, direction: f.Direction,
	}
	r.n++
	r.end = to
}

// overlaps reports whether the oldest frame must go before bytes from from to to are written. At
// the wrap, the frames behind the last one's end go too.
func (r *Recorder) overlaps(h *heldFrame, from, to int) bool {
	if from < r.end { // wrapped
		return h.from >= r.end || h.from < to
	}
	return h.from < to && h.to > from
}

// mark selects the packets of an episode and notes their comments.
func (r *Recorder) mark(f *track.Flow, e *track.Episode) {
	notes := report.NewNotes()
	notes.AddEpisode(f, e)
	from, to := min(e.FirstSent, e.PrevSent).Add(-around), max(e.Seen, e.Acked, e.Ended).Add(around)
	for i := sort.Search(r.n, func(i int) bool { return r.at(i).at >= from }); i < r.n && r.at(i).at <= to; i++ {
		h := r.at(i)
		if !(h.src == f.Src && h.dst == f.Dst || h.src == f.Dst && h.dst == f.Src) {
			continue
		}
		h.wanted = true
		if text := notes.Comment(h.number); text != "" {
			if before := r.comments[h.number]; before != "" {
				text = before + "\n" + strings.TrimPrefix(text, "tcpwheel: ")
			}
			r.comments[h.number] = text[:min(len(text), math.MaxUint16)]
		}
	}
}

// release writes the oldest packet, if it is wanted, and forgets it.
func (r *Recorder) release() {
	h := r.at(0)
	if h.wanted && r.err == nil {
		r.err = r.write(h)
	}
	if h.wanted {
		delete(r.comments, h.number)
	}
	r.first, r.n = (r.first+1)%len(r.held), r.n-1
}

// advance writes the wanted packets that were held long enough at now.
func (r *Recorder) advance(now wheel.Time) error {
	for r.n > 0 && now.Sub(r.at(0).at) > heldTime {
		r.release()
	}
	r.err = cmp.Or(r.err, r.out.Flush())
	return r.err
}

func (r *Recorder) write(h *heldFrame) error {
	if r.out.Len() >= r.rotation.Size {
		if err := r.rotate(); err != nil {
			return err
		}
	}
	iface, ok := r.links[h.link]
	if !ok {
		var err error
		if iface, err = r.file.AddInterface("", h.link); err != nil {
			return err
		}
		r.links[h.link] = iface
	}
	return r.file.WriteDirected(iface, h.at, pcapng.Direction(h.direction), r.slab[h.from:h.to], h.length, r.comments[h.number])
}

// create begins a file.
func (r *Recorder) create() error {
	f, err := os.Create(r.name)
	if err != nil {
		return err
	}
	r.out, r.links = pcapng.NewSink(f), map[uint16]uint32{}
	if r.file, err = pcapng.NewWriter(r.out, "tcpwheel"); err == nil {
		err = r.out.Flush()
	}
	return err
}

// older returns the name of the n-th file before the present one.
func (r *Recorder) older(n int) string {
	if n == 0 {
		return r.name
	}
	ext := filepath.Ext(r.name)
	return fmt.Sprintf("%s.%d%s", strings.TrimSuffix(r.name, ext), n, ext)
}

// rotate renames the files and begins a new one.
func (r *Recorder) rotate() error {
	if err := r.out.Close(); err != nil {
		return err
	}
	for n := r.rotation.Files - 1; n > 0; n-- {
		if err := os.Rename(r.older(n-1), r.older(n)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return r.create()
}

// close writes the wanted packets and closes the file.
func (r *Recorder) close() error {
	for r.n > 0 {
		r.release()
	}
	r.err = cmp.Or(r.err, r.out.Close())
	return r.err
}
