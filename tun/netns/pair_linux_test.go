package netns

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/sim"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/")) }

// TestQdisc sets a queueing discipline that each kernel has, and one that none has.
func TestQdisc(t *testing.T) {
	k, err := newKernel(netip.MustParsePrefix(serverAddr))
	Must(t, err)
	Must(t, k.setQdisc("pfifo"))
	Must(t, k.Do(func() error {
		dev, err := netlink.LinkByName(k.Device.Name())
		if err != nil {
			return err
		}
		all, err := netlink.QdiscList(dev)
		if err == nil && (len(all) != 1 || all[0].Type() != "pfifo") {
			t.Errorf("the device has %v, want pfifo", all)
		}
		return err
	}))
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	s, err := NewPair(PairConfig{Qdisc: "none-such"})
	if !errors.Is(err, errors.ErrUnsupported) || s != nil || !strings.Contains(err.Error(), "discipline none-such") {
		t.Errorf("%v, %v, want an error that names it", s, err)
	}
}

// TestLostTail: the segment with the last byte of a kernel's response is lost once. The kernel
// retransmits it, by its probe or its timer, two round trips later at the earliest. On a busy
// machine the link may see the first transmission later than the second.
func TestLostTail(t *testing.T) {
	const rtt, octets = 20 * time.Millisecond, 3000
	var (
		mu   sync.Mutex
		seen []Packet
	)
	heldUp := Lateness(t)
	link := sim.LinkConfig{Delay: rtt / 2}
	lossy := link
	lossy.Loss = sim.Losses{sim.LostRanges{{From: octets - 1, To: octets, Attempt: 1}}}
	s, err := NewPair(PairConfig{There: lossy, Back: link, Sent: func(p Packet) {
		mu.Lock()
		defer mu.Unlock()
		if p.FromServer && p.Model.End > p.Model.Start {
			seen = append(seen, p)
		}
	}})
	Must(t, err)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, _, err := s.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all sync.WaitGroup
	all.Go(func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		if _, err := c.Write(make([]byte, octets)); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, c) // until the client closes
	})
	c, err := s.Dial(t.Context(), 40000, 80)
	if err != nil {
		t.Fatal(err)
	}
	if err := SetQuickAck(c, true); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(c, make([]byte, octets)); err != nil {
		t.Error(err)
	}
	c.Close()
	all.Wait()
	late := heldUp()
	counts, err := s.Counts()
	if err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	lost, again := -1, -1
	for i, p := range seen {
		switch {
		case p.Fate.Outcome == sim.Lost:
			lost = i
		case lost >= 0 && again < 0 && p.Model.Start < octets && p.Model.End >= octets:
			again = i
		}
		if p.Header.SrcPort != 80 || p.Header.DstPort != 40000 {
			t.Errorf("a segment from port %d to %d", p.Header.SrcPort, p.Header.DstPort)
		}
	}
	if lost < 0 || again < 0 {
		t.Fatalf("seen %+v, want a lost segment and its retransmission", seen)
	}
	if wait := seen[again].At.Sub(seen[lost].At); wait+4*late < 2*rtt || seen[again].Model.Attempt != 2 {
		t.Errorf("retransmitted after %v as transmission %d", wait, seen[again].Model.Attempt)
	}
	if counts.Timeouts+counts.Probes == 0 {
		t.Error("the kernel counts neither a timeout nor a probe")
	}
}
