package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

var testAddrs = [2][]netip.Prefix{
	{netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("fd09::1/64")},
	{netip.MustParsePrefix("10.9.0.2/24"), netip.MustParsePrefix("fd09::2/64")},
}

// testConfig is a link between two namespaces of the test, with all files, over IPv4. It skips
// without root.
func testConfig(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	c := Config{Seed: 1, Log: filepath.Join(dir, "log"), Captures: [2]string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}}
	for i := range c.Sides {
		c.Sides[i] = Side{Netns: netns.Test(t).Path(), Addrs: testAddrs[i][:1]}
	}
	return c
}

func startTest(t *testing.T, c Config) *Link {
	t.Helper()
	l, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// testTransfer sends n bytes from a to b, then an EOF, and compares checksums.
func testTransfer(t *testing.T, l *Link, to netip.Addr, n int) {
	t.Helper()
	var ln net.Listener
	var a net.Conn
	if err := l.inSide(1, func() (err error) {
		ln, err = net.Listen("tcp", netip.AddrPortFrom(to, 0).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := l.inSide(0, func() (err error) {
		a, err = net.DialTimeout("tcp", ln.Addr().String(), time.Minute)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	deadline := time.Now().Add(3 * time.Minute)
	a.SetDeadline(deadline)
	b.SetDeadline(deadline)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 8)
	}
	go func() {
		a.Write(data)
		a.(*net.TCPConn).CloseWrite()
	}()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	m, err := io.Copy(sum, b)
	if err != nil || m != int64(n) || sum.Sum64() != crc64.Checksum(data, crc64.MakeTable(crc64.ECMA)) {
		t.Fatalf("%d bytes arrived with another checksum, or not all: %v", m, err)
	}
	b.Close()
	if _, err := io.Copy(io.Discard, a); err != nil {
		t.Error(err)
	}
}

// testLog is a log as it is read back.
type testLog struct {
	plan    planRecord
	packets []events.Packet
	end     *endRecord
}

func readLog(t *testing.T, name string) (l testLog) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var kind struct{ Record string }
		var to any
		if err := json.Unmarshal(line, &kind); err != nil {
			t.Fatalf("line %d: %v: %s", i, err, line)
		}
		switch kind.Record {
		case "plan":
			to = &l.plan
		case "packet":
			l.packets = append(l.packets, events.Packet{})
			to = &l.packets[len(l.packets)-1]
		case "end":
			l.end = &endRecord{}
			to = l.end
		default:
			t.Fatalf("line %d: record %q", i, kind.Record)
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(to); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	return l
}

// direction returns the packets of direction d and checks that their numbers ascend.
func (l *testLog) direction(t *testing.T, d int) (of []events.Packet) {
	t.Helper()
	n := uint64(0)
	for _, e := range l.packets {
		if e.Direction != Direction(d) {
			continue
		}
		of = append(of, e)
		if e.Fate == events.FateTooBig {
			continue
		}
		if n++; e.N != n {
			t.Fatalf("%s: packet %d after packet %d", e.Direction, e.N, n-1)
		}
	}
	return of
}

// checkFiles compares the log, the captures, the counts and the devices. written are the packets
// that the devices of a and b were given. Everything sent before drained must have arrived. What
// the kernels send of their own accord later need not have.
func checkFiles(t *testing.T, c *Config, s [2]Summary, written [2]uint64, drained wheel.Time) testLog {
	t.Helper()
	log := readLog(t, c.Log)
	if log.end == nil || log.end.Summary != s {
		t.Fatalf("the log ends with %+v, want %+v", log.end, s)
	}
	epoch := wheel.Time(log.plan.Epoch.UnixNano())
	type seen struct {
		at      wheel.Time
		size    uint32
		inbound bool
	}
	var want [2]map[seen]int
	for i := range want {
		want[i] = make(map[seen]int)
	}
	for d := range s {
		got := Summary{Direction: Direction(d)}
		arrivals := uint64(0)
		for _, e := range log.direction(t, d) {
			got.Packets++
			want[d][seen{epoch + wheel.Time(e.Sent), e.Size, false}]++
			switch e.Fate {
			case events.FateDelivered:
				got.Delivered++
				wants := 1
				if e.Duplicated {
					wants = 2
				}
				soonest := e.Sent
				if !e.Reordered && c.Links[d].Jitter.Amount == 0 {
					soonest += events.Seconds(c.Links[d].Delay)
				}
				if len(e.Arrived) != wants || e.Arrived[0] < *e.Due || *e.Due < soonest {
					t.Errorf("%s %d: sent %v, due %v, arrived %v", e.Direction, e.N, e.Sent, *e.Due, e.Arrived)
				}
				for _, at := range e.Arrived {
					want[1-d][seen{epoch + wheel.Time(at), e.Size, true}]++
					arrivals++
				}
			case events.FateLost:
				got.Lost++
			case events.FateQueue:
				got.Queue++
			case events.FateTooBig:
				got.TooBig++
			case events.FateUnfinished:
				got.Delivered++
				if wheel.Time(e.Sent) < drained {
					t.Errorf("%s %d: sent %v, and not arrived at %v", e.Direction, e.N, e.Sent, drained)
				}
			default:
				t.Errorf("%s %d: fate %q", e.Direction, e.N, e.Fate)
			}
		}
		if got.Packets != s[d].Packets || got.Delivered != s[d].Delivered || got.Lost != s[d].Lost || got.Queue != s[d].Queue || got.TooBig != s[d].TooBig {
			t.Errorf("the log has %+v, the summary %+v", got, s[d])
		}
		if s[d].KernelDrops != 0 || s[d].Refused != 0 || written[1-d] != arrivals+s[1-d].TooBig {
			t.Errorf("%s: %d packets arrived, %d were written; %+v", Direction(d), arrivals, written[1-d], s[d])
		}
	}
	for i, name := range c.Captures {
		made := uint64(0)
		var last wheel.Time
		for _, p := range readCapture(t, name) {
			if p.at < last {
				t.Errorf("capture %s: stamp %v after %v", sideName(i), p.at, last)
			}
			last = p.at
			if strings.HasPrefix(p.comment, "made by the link") {
				made++
				continue
			}
			k := seen{p.at, p.size, p.inbound}
			if want[i][k]--; want[i][k] < 0 {
				t.Errorf("capture %s has a packet of %d bytes at %v that is not in the log", sideName(i), p.size, p.at)
			}
		}
		for k, n := range want[i] {
			if n > 0 {
				t.Errorf("capture %s lacks the packet of %d bytes at %v", sideName(i), k.size, k.at)
			}
		}
		if made != s[i].TooBig {
			t.Errorf("capture %s has %d packets of the link itself, want %d", sideName(i), made, s[i].TooBig)
		}
	}
	return log
}

// drain waits until the link has been idle for a while and every delivered packet has arrived.
func drain(l *Link) {
	var before [2]Summary
	for quiet := 0; quiet < 5; quiet++ {
		time.Sleep(20 * time.Millisecond)
		now := l.Summary()
		for d := range now {
			l.recorder.mu.Lock()
			arrived := uint64(l.recorder.late[d].Len())
			l.recorder.mu.Unlock()
			if now[d].Packets != before[d].Packets || arrived != now[d].Delivered+now[d].Duplicated {
				quiet = -1
			}
		}
		before = now
	}
}

// endTest closes the link and checks its files.
func endTest(t *testing.T, l *Link) ([2]Summary, testLog) {
	t.Helper()
	drain(l)
	drained := l.clock.Now()
	c := l.config
	s, err := l.Close()
	if err != nil {
		t.Fatal(err)
	}
	written := [2]uint64{l.Device(0).Stats().TxPackets, l.Device(1).Stats().TxPackets}
	return s, checkFiles(t, &c, s, written, drained)
}

func losses(t *testing.T, text string) sim.Losses {
	t.Helper()
	l, err := sim.ParseLosses(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTransfersOverKnownLosses: two kernels transfer data over losses named in advance. These
// packets are lost and no others. The log, the captures and the kernels' counts agree.
func TestTransfersOverKnownLosses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, there, back string
		v6, offload       bool
	}{
		{name: "none"},
		{name: "packets", there: "packets:3,10,20-24", back: "packets:5"},
		{name: "packets, offload", there: "packets:10,20-24", back: "packets:5", offload: true},
		// the last is the FIN
		{name: "ranges", there: "ranges:0-1@1,50000-60000@1,50000-50001@2,400000-400001@1"},
		{name: "ranges over IPv6, offload", there: "ranges:0-1@1,50000-60000@1,50000-50001@2,400000-400001@1", v6: true, offload: true},
		{name: "outages", there: "outages:0s-5ms;bernoulli:0.01", back: "outages:1ms-3ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := testConfig(t)
			c.Offload = test.offload
			c.Links = [2]sim.LinkConfig{
				{Delay: 2 * time.Millisecond, Loss: losses(t, test.there)}, {Delay: 3 * time.Millisecond, Loss: losses(t, test.back)},
			}
			if test.v6 {
				for i := range c.Sides {
					c.Sides[i].Addrs = testAddrs[i]
				}
			}
			l := startTest(t, c)
			testTransfer(t, l, c.Sides[1].Addrs[len(c.Sides[1].Addrs)-1].Addr(), 400000)
			_, log := endTest(t, l)
			for d, text := range []string{test.there, test.back} {
				checkLosses(t, log.direction(t, d), losses(t, text))
			}
		})
	}
}

// checkLosses derives the expected losses from the models' text.
func checkLosses(t *testing.T, packets []events.Packet, plan sim.Losses) {
	t.Helper()
	lost := 0
	for _, e := range packets {
		by := ""
		for _, m := range plan {
			hit := false
			switch m := m.(type) {
			case sim.PacketNumbers:
				for _, n := range m {
					hit = hit || n == e.N
				}
			case sim.LostRanges:
				for _, r := range m {
					hit = hit || e.TCP != nil && e.TCP.Attempt == r.Attempt && e.TCP.Start < r.To && r.From < e.TCP.End
				}
			case sim.Outages:
				for _, w := range m {
					hit = hit || time.Duration(e.Sent) >= w.From && time.Duration(e.Sent) < w.To
				}
			default:
				hit = e.By == m.String() // a random model
			}
			if hit && by == "" {
				by = m.String()
			}
		}
		if e.By != by || (e.Fate == events.FateLost) != (by != "") {
			t.Errorf("%s %d: %s by %q, want by %q", e.Direction, e.N, e.Fate, e.By, by)
		}
		if by != "" {
			lost++
		}
		if e.Protocol == "tcp" && (e.TCP == nil || e.TCP.Len > 1448) {
			t.Errorf("%s %d: %+v is not a segment", e.Direction, e.N, e.TCP)
		}
	}
	if _, timed := any(plan).(sim.Outages); len(plan) > 0 && lost == 0 && !timed {
		if _, ok := plan[0].(sim.Outages); !ok {
			t.Errorf("%v has lost nothing", plan)
		}
	}
}

// TestSameSeedSameFates sends the same packets in two runs. Packet n meets the same fate in both,
// and another fate with another seed.
func TestSameSeedSameFates(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) (fates []string) {
		c := testConfig(t)
		c.Seed = seed
		c.Links[0] = sim.LinkConfig{
			Delay: 2 * time.Millisecond, Jitter: sim.Jitter{Amount: time.Millisecond},
			Loss:    append(losses(t, "bernoulli:0.1"), losses(t, "gilbert-elliott:p=0.02,r=0.3")...),
			Reorder: sim.Reorder{Probability: 0.05}, Duplicate: 0.05, Corrupt: 0.05,
		}
		l := startTest(t, c)
		var (
			listener net.PacketConn // receives, so that no ICMP error replaces a packet
			conn     net.Conn
		)
		if err := l.inSide(1, func() (err error) {
			listener, err = net.ListenPacket("udp", netip.AddrPortFrom(testAddrs[1][0].Addr(), 0).String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := l.inSide(0, func() (err error) {
			conn, err = net.Dial("udp", listener.LocalAddr().String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for i := range 800 {
			if _, err := conn.Write(make([]byte, 1+i%1000)); err != nil {
				t.Fatal(err)
			}
		}
		for range 18_000 { // the link may read them late
			if l.Summary()[0].Packets == 800 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		_, log := endTest(t, l)
		for _, e := range log.direction(t, 0) {
			bit := uint32(0)
			if e.CorruptBit != nil {
				bit = *e.CorruptBit
			}
			fates = append(fates, fmt.Sprint(e.N, " ", e.Fate, " ", e.By, " ", e.Duplicated, " ", e.Reordered, " ", bit))
		}
		if len(fates) != 800 {
			t.Fatalf("%d packets from a to b, want 800", len(fates))
		}
		return fates
	}
	first, again, other := run(7), run(7), run(8)
	differ := 0
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("packet %d: %s, and in the second run %s", i+1, first[i], again[i])
		}
		if first[i] != other[i] {
			differ++
		}
	}
	if differ < 50 {
		t.Errorf("with another seed, only %d packets meet another fate", differ)
	}
}

// TestPathMTU: the kernels discover that the link's MTU is smaller than their devices'.
func TestPathMTU(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"IPv4", "IPv6"} {
		t.Run(name, func(t *testing.T) {
			c := testConfig(t)
			for side := range c.Sides {
				c.Sides[side].Addrs = testAddrs[side]
			}
			c.PathMTU = 1300
			c.Links = [2]sim.LinkConfig{{Delay: time.Millisecond}, {Delay: time.Millisecond}}
			l := startTest(t, c)
			testTransfer(t, l, testAddrs[1][i].Addr(), 200000)
			s, log := endTest(t, l)
			if s[0].TooBig == 0 || s[0].TooBig > 20 {
				t.Errorf("%d packets were too big, want a few", s[0].TooBig)
			}
			for _, e := range log.packets {
				if (e.Size > 1300) != (e.Fate == events.FateTooBig) {
					t.Errorf("%s %d: %d bytes, %s", e.Direction, e.N, e.Size, e.Fate)
				}
			}
		})
	}
}

// TestMTU: the devices have the MTU of the configuration.
func TestMTU(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.MTU = 1000
	l := startTest(t, c)
	testTransfer(t, l, testAddrs[1][0].Addr(), 50000)
	_, log := endTest(t, l)
	most := uint32(0)
	for _, e := range log.packets {
		most = max(most, e.Size)
	}
	if most != 1000 {
		t.Errorf("the largest packet has %d bytes, want 1000", most)
	}
}

// TestUnfinished ends a link with packets on it.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.Links[0].Delay = time.Hour
	l := startTest(t, c)
	if err := l.inSide(0, func() error {
		conn, err := net.Dial("udp", netip.AddrPortFrom(testAddrs[1][0].Addr(), 9).String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte("x"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 18_000 {
		if l.Summary()[0].Packets > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s, err := l.Close()
	log := readLog(t, c.Log)
	if err != nil || len(log.packets) != 1 || log.packets[0].Fate != events.FateUnfinished || log.end == nil || s[0].Packets != 1 {
		t.Errorf("%v, log %+v", err, log)
	}
}

// TestStartFails leaves nothing: no namespace, no device.
func TestStartFails(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.Log = filepath.Join(t.TempDir(), "no", "such", "directory")
	if _, err := Start(c); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "link: ") {
		t.Errorf("error %v", err)
	}
	for i := range c.Sides {
		if err := tun.InNamespace(c.Sides[i].Netns, func() error {
			list, err := net.Interfaces()
			if err != nil || len(list) != 1 {
				return fmt.Errorf("interfaces %v, %v, want one", list, err)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestLogOfAFullDisk: a line that does not fit is not written in part, and the error is reported.
func TestLogOfAFullDisk(t *testing.T) {
	c := testConfig(t)
	c.Log = "/dev/full"
	c.Captures = [2]string{}
	l := startTest(t, c)
	if _, err := l.Close(); err == nil || !strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("error %v, want one about /dev/full", err)
	}
}
