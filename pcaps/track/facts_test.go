package track_test

import (
	"io"
	"testing"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// factsOf returns the connections of a sample, with facts.
func factsOf(t *testing.T, name string, cfg track.Config) (all []*track.Conn) {
	t.Helper()
	in, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := capture.NewReader(in, name)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Done = func(c *track.Conn) { all = append(all, c) }
	tr := track.New(cfg)
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		tr.Add(p)
	}
	tr.Close()
	return all
}

// TestFacts checks facts against each other: of a capture at the sender without duplicates, each
// retransmission that was needed follows one that was lost, and each byte was delivered once.
func TestFacts(t *testing.T) {
	for _, c := range factsOf(t, "tail-one/a.pcapng.gz", track.Config{Facts: 1 << 16}) {
		if n := int64(c.Facts.Len()); n != c.Packets {
			t.Fatalf("%d facts of %d packets", n, c.Packets)
		}
		streams := c.Streams()
		rexmits := 0
		for _, x := range c.Facts.All() {
			r := c.Facts.Retransmission(x)
			if (r != nil) != (x.Kind == track.Retransmitted) {
				t.Errorf("packet %d is %v, with retransmission %v", x.Number, x.Kind, r)
			}
			if r == nil {
				continue
			}
			rexmits++
			before, fate, _ := streams[x.Flow].Attempt(x.Start, 1)
			if fate != ledger.Lost || before.Packet != r.FirstPacket {
				t.Errorf("the transmission before packet %d is %d, %v", x.Number, before.Packet, fate)
			}
			if after, fate, ok := streams[x.Flow].Attempt(x.Start, 2); !ok || fate != ledger.Delivered || after.Packet != x.Number {
				t.Errorf("packet %d: %v, %v", x.Number, after, fate)
			}
		}
		if rexmits != 2 {
			t.Errorf("%d retransmissions, want 2", rexmits)
		}
		for d := range streams {
			s := &streams[d]
			if s.Runs[0].Start != 0 || s.End() != s.Sent[len(s.Sent)-1].End || c.Flows[d].Bytes+2 != s.End() {
				t.Errorf("stream %d is [%d, %d), want %d bytes with SYN and FIN", d, s.Runs[0].Start, s.End(), c.Flows[d].Bytes)
			}
			for _, r := range s.Runs {
				if r.FirstDelivered() < 0 {
					t.Errorf("stream %d: [%d, %d) did not arrive: %v", d, r.Start, r.End, r.Tries)
				}
			}
		}
	}
}

// TestFactsBounds keeps no more packets than were asked for.
func TestFactsBounds(t *testing.T) {
	for _, cfg := range []track.Config{{Facts: 10}, {Facts: 1 << 16, FactsTotal: 10}} {
		for _, c := range factsOf(t, "tail-one/a.pcapng.gz", cfg) {
			if !c.Facts.TooMany || c.Facts.Len() > 0 {
				t.Errorf("with Facts %d, FactsTotal %d: %d packets kept", cfg.Facts, cfg.FactsTotal, c.Facts.Len())
			}
		}
	}
	for _, c := range factsOf(t, "tail-one/a.pcapng.gz", track.Config{}) {
		if c.Facts != nil {
			t.Error("facts without Config.Facts")
		}
	}
}
