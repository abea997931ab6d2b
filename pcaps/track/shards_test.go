package track

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// outcome is what following a capture gave.
type outcome struct {
	lines   []string // records of the connections, with their episodes, in the order of Done
	evicted int
	err     string
	stats   capture.Stats
}

func (f *outcome) done(c *Conn) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.Encode(c.Record(""))
	for i := range c.Flows {
		for _, e := range c.Flows[i].Episodes {
			enc.Encode(c.Flows[i].Record("", e))
		}
	}
	f.lines = append(f.lines, b.String())
}

// followIn follows a capture in shares, or with a Tracker if there are none.
func followIn(t *testing.T, shares, maxConns int, file []byte) (f outcome) {
	t.Helper()
	r, err := capture.NewReader(bytes.NewReader(file), "capture")
	if err != nil {
		return outcome{err: err.Error()}
	}
	defer r.Close()
	cfg := Config{MaxConns: maxConns, Reuse: true, Done: f.done}
	if shares > 0 {
		all := r.Share(shares)
		f.evicted, err = FollowShares(cfg, all)
		f.stats = capture.StatsOf(all)
	} else {
		tr := New(cfg)
		r.OnICMPError(tr.ICMP)
		var p *capture.Packet
		for p, err = r.Next(); err == nil; p, err = r.Next() {
			tr.Add(p)
		}
		tr.Close()
		f.evicted, f.stats = tr.Evicted(), r.Stats()
	}
	f.err = err.Error()
	return f
}

// compareShares follows a capture with a Tracker and in shares: the results are the same.
func compareShares(t *testing.T, what string, maxConns int, file []byte) (conns int) {
	t.Helper()
	want := followIn(t, 0, maxConns, file)
	for _, n := range []int{1, 2, 3, 7} {
		got := followIn(t, n, maxConns, file)
		for i := range want.lines {
			if i >= len(got.lines) || got.lines[i] != want.lines[i] {
				t.Fatalf("%s, at most %d connections, %d shares: completion %d of %d and %d is\n%v, want\n%s",
					what, maxConns, n, i, len(got.lines), len(want.lines), got.lines[min(i, len(got.lines)):min(i+1, len(got.lines))], want.lines[i])
			}
		}
		if len(got.lines) != len(want.lines) || got.evicted != want.evicted || got.err != want.err || got.stats != want.stats {
			t.Fatalf("%s, at most %d connections, %d shares: %d connections, %d evicted, %s, %+v\nwant %d, %d, %s, %+v", what, maxConns, n,
				len(got.lines), got.evicted, got.err, got.stats, len(want.lines), want.evicted, want.err, want.stats)
		}
	}
	return len(want.lines)
}

// TestFollowShares follows random captures in shares: floods of SYNs, ports used again, ended
// connections that expire, clocks that go back, damage, fragments, two paths, ICMP errors, and
// files that end inside a packet.
func TestFollowShares(t *testing.T) {
	seeds := uint64(4)
	if os.Getenv("TCPWHEEL_LONG") != "" {
		seeds = 200
	}
	conns := 0
	for seed := range seeds {
		file := randomCapture(seed)
		for _, maxConns := range []int{0, 500, 60, 1} {
			conns += compareShares(t, fmt.Sprint("seed ", seed), maxConns, file)
		}
	}
	t.Logf("%d connections", conns)
}

// TestFollowSharesOfCaptures does so with public captures.
func TestFollowSharesOfCaptures(t *testing.T) {
	names, _ := filepath.Glob(captures + "/*.pcap*")
	more, _ := filepath.Glob(captures + "/second/[hm]*")
	if names = append(names, more...); len(names) == 0 {
		t.Skip("no public captures")
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(file) > 2<<20 && os.Getenv("TCPWHEEL_LONG") == "" {
			continue
		}
		compareShares(t, filepath.Base(name), 0, file)
	}
}

// TestFollowSharesStops stops from Done, and panics there. Both end the goroutines.
func TestFollowSharesStops(t *testing.T) {
	file := randomCapture(1)
	open := func() (*capture.Reader, []*capture.Reader) {
		r, err := capture.NewReader(bytes.NewReader(file), "capture")
		if err != nil {
			t.Fatal(err)
		}
		return r, r.Share(3)
	}
	r, shares := open()
	r.Stop()
	if _, err := FollowShares(Config{}, shares); !errors.Is(err, capture.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	defer func() {
		if p := recover(); p != "done" {
			t.Errorf("Done panicked with done, FollowShares with %v", p)
		}
	}()
	_, shares = open()
	FollowShares(Config{Done: func(*Conn) { panic("done") }}, shares)
}

// randomCapture returns a pcap file of Ethernet frames.
func randomCapture(seed uint64) []byte {
	g := captureMaker{rng: rand.New(rand.NewPCG(seed, 0)), next: map[[2]netip.AddrPort]tcp.Seq{}}
	file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	file = binary.LittleEndian.AppendUint16(file, 2)
	file = append(file, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0)
	for range 600 + g.rng.IntN(5000) {
		for _, frame := range g.frames() {
			file = binary.LittleEndian.AppendUint32(file, uint32(g.us/1e6))
			file = binary.LittleEndian.AppendUint32(file, uint32(g.us%1e6))
			file = binary.LittleEndian.AppendUint32(file, uint32(len(frame)))
			file = binary.LittleEndian.AppendUint32(file, uint32(len(frame)))
			file = append(file, frame...)
			g.us += uint64(g.rng.IntN(3000))
		}
	}
	if g.rng.IntN(3) == 0 {
		file = file[:len(file)-1-g.rng.IntN(50)]
	}
	return file
}

// captureMaker makes frames of connections that are in no particular state.
type captureMaker struct {
	rng  *rand.Rand
	us   uint64 // the capture's clock
	next map[[2]netip.AddrPort]tcp.Seq
}

// frames returns the next packet: one frame, or its fragments.
func (g *captureMaker) frames() [][]byte {
	if g.us == 0 {
		g.us = 1e15
	}
	switch g.rng.IntN(400) {
	case 0:
		g.us += 70e6
	case 1:
		g.us -= 5e6
	}
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(g.rng.IntN(4))}), uint16(1024+g.rng.IntN(1+g.rng.IntN(400))))
	server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 1, byte(g.rng.IntN(2))}), 80)
	src, dst := client, server
	if g.rng.IntN(2) == 0 {
		src, dst = server, client
	}
	way, back := [2]netip.AddrPort{src, dst}, [2]netip.AddrPort{dst, src}
	h := tcp.Header{SrcPort: src.Port(), DstPort: dst.Port(), Seq: g.next[way], Ack: g.next[back], Flags: tcp.ACK, Window: 1000}
	payload := make([]byte, []int{0, 0, 100, 1400}[g.rng.IntN(4)])
	for i := range payload {
		payload[i] = byte(i * g.rng.IntN(2))
	}
	switch g.rng.IntN(8) {
	case 0:
		h.Flags, payload = tcp.SYN, nil
		if g.rng.IntN(2) == 0 {
			h.Seq = tcp.Seq(g.rng.Uint32())
		}
	case 1:
		h.Flags, payload = tcp.SYN|tcp.ACK, nil
	case 2:
		h.Flags |= tcp.FIN
	case 3:
		if g.rng.IntN(4) == 0 {
			h.Flags |= tcp.RST
		}
	case 4:
		h.Seq -= tcp.Seq(g.rng.IntN(3000)) // a retransmission
	}
	n := uint32(len(payload))
	if h.Flags.HasAny(tcp.SYN | tcp.FIN) {
		n++
	}
	g.next[way] = h.Seq.Add(n)
	segment := h.AppendTo(nil)
	segment = append(segment, payload...)
	sum := tcp.PseudoHeader(src.Addr(), dst.Addr(), len(segment)).Add(segment).Checksum()
	if g.rng.IntN(40) == 0 {
		sum++
	}
	binary.BigEndian.PutUint16(segment[16:], sum)
	return g.packets(src.Addr(), dst.Addr(), 6, segment)
}

// packets returns the frames of an IP packet, and now and then an ICMP error about it.
func (g *captureMaker) packets(src, dst netip.Addr, protocol byte, body []byte) [][]byte {
	id := uint16(g.rng.Uint32())
	ip := func(body []byte, place uint16) []byte {
		b := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0}
		binary.BigEndian.PutUint16(b[2:], uint16(20+len(body)))
		binary.BigEndian.PutUint16(b[4:], id)
		binary.BigEndian.PutUint16(b[6:], place)
		b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
		return append(b, body...)
	}
	frame := func(ip []byte) []byte {
		b := make([]byte, 12, 1600)
		if g.rng.IntN(30) == 0 {
			b = append(b, 0x81, 0, 0, 7) // VLAN 7
		}
		return append(append(b, 8, 0), ip...)
	}
	if len(body) > 200 && g.rng.IntN(20) == 0 {
		parts := [][]byte{frame(ip(body[:120], 0x2000)), frame(ip(body[120:], 15))}
		return parts[:1+g.rng.IntN(2)]
	}
	whole := ip(body, 0)
	if protocol == 6 && g.rng.IntN(60) == 0 {
		// A router says: fragmentation needed, at an MTU of 1000 (RFC 1191 §4).
		quoted := append([]byte{3, 4, 0, 0, 0, 0, 3, 0xe8}, whole[:28]...)
		return append(g.packets(dst, src, 1, quoted), frame(whole))
	}
	return [][]byte{frame(whole)}
}

// TestShareFails gives a share a Reader that fails at once: io.EOF of an empty capture.
func TestShareFails(t *testing.T) {
	header := randomCapture(0)[:24]
	if f := followIn(t, 2, 0, header); f.err != io.EOF.Error() || len(f.lines) != 0 {
		t.Errorf("an empty capture: %+v", f)
	}
}

// FuzzFollowShares follows arbitrary files with a Tracker and in shares.
func FuzzFollowShares(f *testing.F) {
	f.Add(randomCapture(2), uint16(0))
	f.Add(randomCapture(3), uint16(100))
	f.Fuzz(func(t *testing.T, file []byte, maxConns uint16) {
		if len(file) > 1<<18 {
			t.Skip("more of the same")
		}
		if want := followIn(t, 0, int(maxConns), file); want.stats.Packets > 0 {
			compareShares(t, "a file", int(maxConns), file)
		}
	})
}
