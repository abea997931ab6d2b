package up

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/wheel"
)

// capturedFile is a capture read back.
type capturedFile struct {
	device            string
	packets           []readPacket
	received, dropped uint64
	ended             bool // the statistics block came
}

type readPacket struct {
	at      wheel.Time
	heading pcapng.Direction
	data    []byte
	comment string
}

func (p *readPacket) ip() header.Network {
	if header.IPVersion(p.data) == header.IPv6Version {
		return header.IPv6(p.data)
	}
	return header.IPv4(p.data)
}

func (p *readPacket) tcp() header.TCP { return header.TCP(p.ip().Payload()) }

// sumIsRight reports whether the TCP checksum is correct.
func (p *readPacket) sumIsRight() bool {
	ip, tcp := p.ip(), p.tcp()
	sum := header.PseudoHeaderChecksum(header.TCPProtocolNumber, ip.SourceAddress(), ip.DestinationAddress(), uint16(len(tcp)))
	return checksum.Checksum(tcp, sum) == 0xffff
}

// parseCapture reads a capture by the format's specification. It rejects what any reader may
// reject.
func parseCapture(file []byte) (c capturedFile, err error) {
	le := binary.LittleEndian
	for n := 0; len(file) > 0; n++ {
		if len(file) < 12 {
			return c, fmt.Errorf("%d bytes left, want a block", len(file))
		}
		kind, length := le.Uint32(file), int(le.Uint32(file[4:]))
		if length < 12 || length%4 != 0 || length > len(file) || int(le.Uint32(file[length-4:])) != length {
			return c, fmt.Errorf("block of %d bytes among %d, want the same length at both ends", length, len(file))
		}
		body := file[8 : length-4]
		file = file[length:]
		if (kind == 0x0a0d0d0a) != (n == 0) || (kind == 1) != (n == 1) || c.ended {
			return c, fmt.Errorf("block %d is of type %#x", n, kind)
		}
		var p readPacket
		switch kind {
		case 0x0a0d0d0a:
			body = body[16:]
		case 1:
			if le.Uint16(body) != 101 {
				return c, fmt.Errorf("link type %d, want 101", le.Uint16(body))
			}
			body = body[8:]
		case 5:
			c.ended = true
			body = body[12:]
		case 6:
			size := int(le.Uint32(body[12:]))
			if int(le.Uint32(body[16:])) != size {
				return c, errors.New("a packet is cut")
			}
			p.at = wheel.Time(uint64(le.Uint32(body[4:]))<<32 | uint64(le.Uint32(body[8:])))
			p.data = body[20 : 20+size]
			body = body[20+(size+3)/4*4:]
		default:
			return c, fmt.Errorf("block of type %#x", kind)
		}
		for len(body) > 0 {
			code, n := le.Uint16(body), int(le.Uint16(body[2:]))
			value := body[4 : 4+n]
			switch {
			case kind == 1 && code == 2:
				c.device = string(value)
			case kind == 6 && code == 1:
				p.comment = string(value)
			case kind == 6 && code == 2:
				p.heading = pcapng.Direction(value[0])
			case kind == 5 && code == 4:
				c.received = le.Uint64(value)
			case kind == 5 && code == 5:
				c.dropped = le.Uint64(value)
			}
			body = body[4+(n+3)/4*4:]
		}
		if kind == 6 {
			if k := len(c.packets); k > 0 && p.at < c.packets[k-1].at {
				return c, fmt.Errorf("packet %d is stamped before its predecessor", k)
			}
			c.packets = append(c.packets, p)
		}
	}
	return c, nil
}

func mustParse(t *testing.T, file []byte) capturedFile {
	t.Helper()
	c, err := parseCapture(file)
	if err != nil || !c.ended {
		t.Fatalf("after %d packets: %v, statistics: %t", len(c.packets), err, c.ended)
	}
	return c
}

// TestCaptureInVirtualTime: a stack dials a host that does not answer. The comments on its SYNs
// name their timer, with times exact to the nanosecond.
func TestCaptureInVirtualTime(t *testing.T) {
	clock, err := netstack.NewVirtualClock(netstack.VirtualClockConfig{Epoch: time.Unix(1e9, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	c, err := newCapture("-", "void", &file, clock, CaptureLimits{})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Addrs: prefixes("10.7.0.2/24"), Capture: "-"}
	s, err := config.newStack(newTapped(channel.New(100, 1500, ""), c), clock, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Destroy()
	ep, nsErr := s.NewEndpoint(gtcp.ProtocolNumber, header.IPv4ProtocolNumber, &waiter.Queue{})
	if nsErr != nil {
		t.Fatal(nsErr)
	}
	defer ep.Abort()
	ep.Connect(tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4([4]byte{10, 7, 0, 1}), Port: 80})
	clock.Advance(10 * time.Second)
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	got := mustParse(t, file.Bytes())
	var list []string
	for _, p := range got.packets {
		if !p.sumIsRight() || p.heading != pcapng.Outbound || p.tcp().Flags() != header.TCPFlagSyn {
			t.Errorf("a packet of heading %d with flags %v, its checksum right: %t, want a SYN that leaves", p.heading, p.tcp().Flags(), p.sumIsRight())
		}
		list = append(list, fmt.Sprintf("%v %s", p.at, p.comment))
	}
	want := []string{
		"277777h46m40s ",
		"277777h46m41s SYN RTO: armed 1s ago for 1s, left 0s late",
		"277777h46m43s SYN RTO: armed 2s ago for 2s, left 0s late",
		"277777h46m47s SYN RTO: armed 4s ago for 4s, left 0s late",
	}
	if !slices.Equal(list, want) || got.device != "void" || got.received != 4 || got.dropped != 0 {
		t.Errorf("captured at %s: %q, %d of them, %d dropped, want at void: %q", got.device, list, got.received, got.dropped, want)
	}
	if r := c.report(); r != (CaptureReport{File: "-", Packets: 4, Bytes: r.Bytes, Timed: 3}) || r.Bytes < 4*40 {
		t.Errorf("report %+v", r)
	}
}

// stuckWriter accepts the first blocks, and then blocks until it is released.
type stuckWriter struct {
	once  sync.Once
	stuck chan struct{} // closed when it blocks
	goOn  chan struct{}
	bytes.Buffer
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	if w.Len() > 1000 {
		w.once.Do(func() { close(w.stuck) })
		<-w.goOn
	}
	return w.Buffer.Write(b)
}

// addPacket captures a packet of so many bytes.
func addPacket(c *capture, n int) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(make([]byte, n))})
	defer pkt.DecRef()
	c.add(pkt, pcapng.Inbound)
}

// TestCaptureDrops captures more than the file accepts. Senders do not wait, and missing packets
// are counted.
func TestCaptureDrops(t *testing.T) {
	w := &stuckWriter{stuck: make(chan struct{}), goOn: make(chan struct{})}
	c, err := newCapture("-", "x", w, tcpip.NewStdClock(), CaptureLimits{queue: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	added := uint64(0)
	for stuck := false; !stuck; { // with a batch
		addPacket(c, 1000)
		addPacket(c, 1000)
		added += 2
		select {
		case <-w.stuck:
			stuck = true
		case <-time.After(time.Millisecond):
		}
	}
	for range 1000 {
		addPacket(c, 1000)
	}
	added += 1000
	r := c.report()
	if r.Dropped < 900 || r.Packets+r.Dropped != added || r.Packets < 10 {
		t.Errorf("report %+v of %d packets with room for 10 that wait", r, added)
	}
	close(w.goOn)
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	got := mustParse(t, w.Bytes())
	if uint64(len(got.packets)) != r.Packets || got.received != added || got.dropped != r.Dropped {
		t.Errorf("%d packets in the file, which counts %d and %d dropped, want %+v", len(got.packets), got.received, got.dropped, r)
	}
	addPacket(c, 1) // not captured
	if after := c.report(); after != r {
		t.Errorf("report %+v after the end, want %+v", after, r)
	}
}

// TestCaptureFails: the first write error is reported at once, and again by close.
func TestCaptureFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is always full: %v", err)
	}
	full.Close()
	if _, err := newCapture("/dev/full", "x", nil, tcpip.NewStdClock(), CaptureLimits{}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("a device that is full: %v", err)
	}
	if _, err := newCapture(filepath.Join(t.TempDir(), "no", "file"), "x", nil, tcpip.NewStdClock(), CaptureLimits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := newCapture("-", "x", nil, tcpip.NewStdClock(), CaptureLimits{}); err == nil {
		t.Error("no standard output: no error")
	}
	r, w := io.Pipe()
	go io.CopyN(io.Discard, r, 100)
	c, err := newCapture("-", "x", w, tcpip.NewStdClock(), CaptureLimits{})
	if err != nil {
		t.Fatal(err)
	}
	addPacket(c, 1000)
	r.CloseWithError(io.ErrClosedPipe)
	<-c.queue.Failed()
	addPacket(c, 1000)
	if err := c.close(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("close: %v, want that of the writer", err)
	}
}

// TestCaptureIsAbandoned: a capture of a host that never started leaves no file.
func TestCaptureIsAbandoned(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.pcapng")
	c, err := newCapture(name, "x", nil, tcpip.NewStdClock(), CaptureLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	c.remove()
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestCaptureLimits: files stay below their size, the newest are kept and complete, without more
// files the rest is counted as missing, and packets are cut to the snaplen.
func TestCaptureLimits(t *testing.T) {
	const size, packets, payload = 1 << 16, 300, 1000
	for _, test := range []struct {
		limits CaptureLimits
		files  []string
	}{
		{CaptureLimits{FileBytes: size}, []string{"up.pcapng"}},
		{CaptureLimits{FileBytes: size, Files: 2}, []string{"up-00004.pcapng", "up-00005.pcapng"}},
		{CaptureLimits{Snaplen: 100}, []string{"up.pcapng"}},
	} {
		dir := t.TempDir()
		c, err := newCapture(filepath.Join(dir, "up.pcapng"), "x", nil, tcpip.NewStdClock(), test.limits)
		if err != nil {
			t.Fatal(err)
		}
		for range packets {
			addPacket(c, payload)
		}
		if err := c.close(); err != nil {
			t.Fatal(err)
		}
		r := c.report()
		if stops := test.limits.FileBytes > 0 && test.limits.Files == 0; r.Packets+r.Dropped != packets || (r.Dropped > 0) != stops {
			t.Errorf("%+v: report %+v of %d packets", test.limits, r, packets)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != len(test.files) {
			t.Fatalf("%+v: files %v, %v, want %v", test.limits, entries, err, test.files)
		}
		for i, name := range test.files {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if most := test.limits.FileBytes; most > 0 && uint64(len(b)) > uint64(most) {
				t.Errorf("%s has %d bytes, want at most %d", name, len(b), most)
			}
			if test.limits.Snaplen > 0 {
				if least := packets * 100; len(b) < least || len(b) > 2*least {
					t.Errorf("%s has %d bytes, want some more than %d", name, len(b), least)
				}
				continue
			}
			got, err := parseCapture(b)
			if err != nil || !got.ended || len(got.packets) < 40 && i == 0 {
				t.Errorf("%s: %d packets, %v, ended %t", name, len(got.packets), err, got.ended)
			}
		}
	}
	for want, limits := range map[string]CaptureLimits{
		"want at least 65536": {FileBytes: 1000}, "want up to 1000": {Files: -1},
		"want a file name and a size": {Files: 2}, "want at least 40": {Snaplen: 10},
	} {
		if err := limits.check("x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", limits, err, want)
		}
	}
}
