package truth

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// SimulatedCaptures simulates n captures, each of the connections of a trial, at all points, and
// passes them to use.
func SimulatedCaptures(n int, first uint64, use func(name string, all damage.Packets) error) error {
	trials := (&Trials{Seeds: 1 + n/45, First: first}).plan()
	for i := range n {
		t := &trials[i*len(trials)/n]
		all, err := t.capture(i % 3)
		if err == nil {
			err = use(fmt.Sprintf("simulated %d: %s, captured at %s", i, t.name(), PointName(i%3)), all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// capture simulates the connections of a trial, one after the other, and returns the packets at a
// point.
func (t *trial) capture(point int) (damage.Packets, error) {
	var file bytes.Buffer
	out, err := newFile(&file)
	for n := range t.conns {
		if err != nil {
			return nil, err
		}
		s := t.scenario
		s.Seed, s.Loss = t.seed*100+uint64(n), t.losses(n)
		s.Files[point] = out
		s.Sender = netip.AddrFrom4([4]byte{10, 1, 0, byte(1 + n)})
		s.Epoch = wheel.Time(n) * wheel.Time(2*s.Span)
		_, err = Simulate(s)
	}
	return packetsOf(&file, t.name(), err)
}

// capture simulates the scenario. With files it returns the packets at each point, too.
func (s Scenario) capture(files bool) (w *Simulated, all [Sides]damage.Packets, err error) {
	var text [Sides]bytes.Buffer
	for point := range text {
		if !files {
			break
		}
		if s.Files[point], err = newFile(&text[point]); err != nil {
			return nil, all, err
		}
	}
	w, err = Simulate(s)
	for point := range text {
		if files && err == nil {
			all[point], err = packetsOf(&text[point], s.String(), nil)
		}
	}
	return w, all, err
}

// judgeDamaged judges the replays of captures of the trial's connections, damaged.
func (t *twins) judgeDamaged(r *Replays, side Side, d *damage.Damage, captures []damage.Packets) error {
	own := twins{
		name: t.name, captured: t.captured, study: t.study, under: make([][]flowRuns, len(t.under)), damage: d.String(), places: []int64{},
	}
	var results []*replay.Result
	for n, all := range captures {
		damaged, _, err := runDamage(d, all, uint64(n))
		if err != nil {
			return err
		}
		f := t.flow[n][0]
		a, b := f.Src.Addr(), f.Dst.Addr()
		between := func(c *track.Conn) bool {
			src, dst := c.Flows[0].Src.Addr(), c.Flows[0].Dst.Addr()
			return src == a && dst == b || src == b && dst == a
		}
		x, err := resultOf(t.study, t.name+", "+d.String(), between, func(rec *replay.Recorder) error {
			decode(damaged, rec.Add, rec.ICMP)
			return nil
		})
		if err != nil {
			return err
		}
		if x == nil {
			continue
		}
		results = append(results, x)
		own.flow = append(own.flow, t.flow[n])
		own.places = append(own.places, placeZero(x, damaged, f))
		for i := range t.under {
			own.under[i] = append(own.under[i], t.under[i][n])
		}
	}
	own.judge(r, side, results)
	return nil
}

// placeZero returns where the captured connection begins in the sender's stream: at 0, unless its
// SYN was not captured.
func placeZero(x *replay.Result, damaged damage.Packets, f *Flow) int64 {
	if len(f.Sent) == 0 || slices.ContainsFunc(damaged, func(p *damage.Packet) bool {
		return p.Segment != nil && p.Segment.Src == f.Src && p.Segment.Header.Flags.Has(tcp.SYN)
	}) {
		return 0
	}
	for i := range x.Captured.Losses {
		l := &x.Captured.Losses[i]
		if n := l.Packet; n >= 1 && n <= int64(len(damaged)) {
			if p := damaged[n-1]; p.Segment != nil && p.Segment.Src == f.Src {
				return int64(p.Segment.Header.Seq.Sub(f.Sent[0].Seq)) - int64(l.Start)
			}
		}
	}
	return 0
}

// newFile begins a capture of a Scenario's.
func newFile(w io.Writer) (*pcapng.Writer, error) {
	return pcapng.NewFile(w, "", "", pcapng.LinkTypeRaw)
}

// packetsOf reads a capture into memory, unless there was an error.
func packetsOf(file *bytes.Buffer, name string, err error) (damage.Packets, error) {
	if err != nil {
		return nil, err
	}
	r, err := capture.NewReader(file, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return damage.Load(r)
}
