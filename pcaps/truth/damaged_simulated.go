package truth

import (
	"bytes"
	"fmt"
	"net/netip"

	"tcpwheel/netstack/sim"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
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
	out, err := sim.NewPcapng(&file, "")
	if err == nil {
		_, err = out.AddInterface("", sim.LinkTypeRaw)
	}
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
