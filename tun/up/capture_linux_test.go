package up

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

func readCapture(t *testing.T, file string) capturedFile {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return mustParse(t, text)
}

// TestCaptureOfHost captures a transfer. The file has all its bytes, with correct checksums, in
// both directions.
func TestCaptureOfHost(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{Ours, GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "up.pcapng")
			s := newTestHost(t, Config{Capture: file, TCP: whose})
			const n = 3 << 20
			for _, stack := range stackAddrs {
				s.getBytes(stack.Addr(), n)
			}
			r := s.Report(Selection{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			got := readCapture(t, file)
			for _, stack := range stackAddrs {
				checkTransfer(t, got, stack.Addr(), n, whose == Ours)
			}
			if got.device != s.Device().Name() || got.dropped != 0 || got.received != uint64(len(got.packets)) || r.Capture.Packets > got.received {
				t.Errorf("at %s, %d captured and %d dropped, want %d; /info reports %+v", got.device, got.received, got.dropped, len(got.packets), r.Capture)
			}
		})
	}
}

// checkTransfer checks that the stack sent so many bytes over one connection.
func checkTransfer(t *testing.T, got capturedFile, stack netip.Addr, size uint32, comments bool) {
	t.Helper()
	var first, end, total, supers, received uint32
	for i := range got.packets {
		p := &got.packets[i]
		us := tcpip.AddrFromSlice(stack.AsSlice())
		from, want := p.ip().SourceAddress() == us, pcapng.Inbound
		if from {
			want = pcapng.Outbound
		}
		if p.ip().TransportProtocol() != header.TCPProtocolNumber || !from && p.ip().DestinationAddress() != us {
			continue
		}
		if p.heading != want || !p.sumIsRight() || !comments && p.comment != "" {
			t.Fatalf("packet %d: heading %d, want %d, its checksum right: %t, comment %q", i, p.heading, want, p.sumIsRight(), p.comment)
		}
		payload, seq := uint32(len(p.tcp().Payload())), p.tcp().SequenceNumber()
		switch {
		case !from:
			received += payload
			continue
		case p.tcp().Flags().Contains(header.TCPFlagSyn):
			first, end = seq+1, seq+1
			continue
		case payload == 0:
			continue
		case seq != end && (p.comment == "" && comments || int32(seq-end) > 0):
			t.Errorf("packet %d begins at %d, want %d", i, seq-first, end-first)
		case seq == end:
			total += payload
			end += payload
		}
		if payload > 1460 {
			supers++
		}
	}
	if total < size || total > size+1000 || received == 0 || supers == 0 {
		t.Errorf("%v: %d bytes of %d packets, %d of them super-segments, want %d and HTTP's header", stack, total, len(got.packets), supers, size)
	}
}

// TestCaptureNamesTimers sends single messages over a lossy link. The comment on each
// retransmission names its timer, how long it was armed, and how late it was. A busy
// machine also delays packets between engine and link.
func TestCaptureNamesTimers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "up.pcapng")
	plan := &LinkPlan{FromStack: sim.LinkConfig{Delay: time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.2}}}}
	s := newTestHost(t, Config{Capture: file, Plan: plan, Seed: 3})
	heldUp := netns.Lateness(t)
	c := s.mustDial(stackAddrs[0].Addr(), EchoPort)
	buf := make([]byte, 100)
	for range 60 {
		if _, err := c.Write(buf); err != nil {
			t.Fatal(err)
		}
		for have := 0; have < len(buf); {
			n, err := c.Read(buf[have:])
			if err != nil {
				t.Fatal(err)
			}
			have += n
		}
	}
	counters := s.Report(Selection{}).Counters
	slack := 20 * heldUp()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := readCapture(t, file)
	sent := map[uint32]wheel.Time{} // sequence numbers of data, and when each last left
	again, timed := uint64(0), uint64(0)
	for i := range got.packets {
		p := &got.packets[i]
		if p.heading != pcapng.Outbound || p.ip().TransportProtocol() != header.TCPProtocolNumber || p.tcp().SourcePort() != EchoPort {
			continue
		}
		name, rest, isTimed := strings.Cut(p.comment, ": ")
		if len(p.tcp().Payload()) == 0 && !p.tcp().Flags().Contains(header.TCPFlagSyn) {
			continue
		}
		before, was := sent[p.tcp().SequenceNumber()]
		sent[p.tcp().SequenceNumber()] = p.at
		if was {
			again++
		}
		if was != isTimed {
			t.Errorf("packet %d, sent before: %t, has the comment %q", i, was, p.comment)
		}
		if !isTimed {
			continue
		}
		timed++
		ago, late, armed := parseComment(t, rest)
		if name != "RTO" && name != "TLP PTO" && name != "SYN RTO" || ago != armed+late || late < 0 || late > time.Second+slack {
			t.Errorf("packet %d: %q, want a timer of retransmission, and times that agree", i, p.comment)
		}
		// The timer was armed when the segment was sent, or later.
		if gap := p.at.Sub(before); ago > gap+10*time.Millisecond+slack {
			t.Errorf("packet %d was sent %v after its last transmission, and says %q", i, gap, p.comment)
		}
	}
	if again != counters.RetransSegs || again == 0 || timed != again {
		t.Errorf("%d packets were retransmitted, %d with a comment, want %d", again, timed, counters.RetransSegs)
	}
}

// parseComment reads "armed 201ms ago for 200ms, left 1ms late".
func parseComment(t *testing.T, text string) (ago, late, armed time.Duration) {
	t.Helper()
	words := strings.Fields(strings.ReplaceAll(text, ",", ""))
	if len(words) != 8 {
		t.Fatalf("%q, want armed D ago for D, left D late", text)
	}
	for i, to := range map[int]*time.Duration{1: &ago, 4: &armed, 6: &late} {
		d, err := time.ParseDuration(words[i])
		if err != nil {
			t.Fatal(err)
		}
		*to = d
	}
	return ago, late, armed
}

// TestCaptureErrorEndsHost: a host whose capture cannot be written reports it and ends.
func TestCaptureErrorEndsHost(t *testing.T) {
	t.Parallel()
	ns := netns.Test(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ready, done := make(chan string, 1), make(chan error, 1)
	c := Config{Device: "up0", Netns: ns.Path(), Addrs: stackAddrs, HostAddrs: kernelAddrs, Capture: "-", Stdout: w}
	running, ended := context.WithCancel(t.Context())
	go func() {
		defer ended()
		done <- Run(t.Context(), c, func(s string) { ready <- s })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	r.Close()
	s := &hostTest{t: t, ns: ns}
	if c, err := s.dial(running, stackAddrs[0].Addr(), EchoPort); err == nil { // it may end first
		c.Close()
	}
	if err := <-done; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Run = %v, want %v", err, syscall.EPIPE)
	}
}

// TestNoCaptureIsLeft: a host that cannot start leaves no file.
func TestNoCaptureIsLeft(t *testing.T) {
	ns := netns.Test(t)
	file := filepath.Join(t.TempDir(), "up.pcapng")
	// too small for IPv6
	c := Config{Netns: ns.Path(), Addrs: stackAddrs, HostAddrs: kernelAddrs, MTU: 1000, Capture: file}
	if s, err := Start(c); err == nil {
		s.Close()
		t.Fatal("Start gave no error")
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
