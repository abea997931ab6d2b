package watch

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// heldPacket returns a packet with its number in its bytes.
func heldPacket(n int64, size int) (*capture.Packet, *capture.Frame) {
	p := &capture.Packet{Number: n, Time: wheel.Time(n) * wheel.Time(time.Millisecond)}
	data := make([]byte, size)
	binary.BigEndian.PutUint64(data, uint64(n))
	return p, &capture.Frame{Time: p.Time, Data: data, Length: uint32(size), LinkType: 1}
}

// TestRecorderHoldsTheLastPackets fills a small slab many times: the packets held are the last
// ones, in order, and their bytes are theirs.
func TestRecorderHoldsTheLastPackets(t *testing.T) {
	r, err := Record(filepath.Join(t.TempDir(), "x.pcapng"), Rotation{1, 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r.slab = make([]byte, 1000)
	for n := int64(1); n < 2000; n++ {
		p, f := heldPacket(n, 8+int(n*n)%93)
		r.add(p, f)
		bytes := 0
		for i := range r.n {
			h := r.at(i)
			bytes += h.to - h.from
			if got := int64(binary.BigEndian.Uint64(r.slab[h.from:])); h.number != n-int64(r.n-1-i) || got != h.number {
				t.Fatalf("after %d packets: packet %d of %d has number %d and the bytes of %d", n, i, r.n, h.number, got)
			}
		}
		if n > 100 && bytes < 700 {
			t.Fatalf("after %d packets %d bytes are held, want most of 1000", n, bytes)
		}
	}
	if p, f := heldPacket(1, 600); true { // more than half
		before := r.n
		if r.add(p, f); r.n != before {
			t.Error("a packet of more than half of the memory was held")
		}
	}
}

// TestRecorderRotates writes more than fits: the newest files stay, each a capture.
func TestRecorderRotates(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.pcapng")
	r, err := Record(name, Rotation{3, 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	const packets = 6000
	for n := int64(1); n <= packets; n++ {
		p, f := heldPacket(n, 100)
		f.Data[12], f.Data[14] = 8, 0x45
		r.add(p, f)
		r.at(r.n - 1).wanted = true
	}
	if err := r.advance(wheel.Time(time.Hour)); err != nil || r.n != 0 {
		t.Fatalf("%v, %d held", err, r.n)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v, want 3 files", files, err)
	}
	var last wheel.Time
	for i := 2; i >= 0; i-- { // the oldest first
		info, err := os.Stat(r.older(i))
		if err != nil || info.Size() > 66<<10 {
			t.Fatalf("%v, %v bytes, want 64 KiB", err, info.Size())
		}
		in, err := capture.Open(r.older(i))
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Next()
		s := in.Stats()
		if in.Close(); s.Packets == 0 || s.First <= last {
			t.Errorf("%s: %d packets from %v on, after %v; %v", r.older(i), s.Packets, s.First, last, err)
		}
		last = s.Last
	}
	if last != wheel.Time(packets)*wheel.Time(time.Millisecond) {
		t.Errorf("the last packet is of %v", last)
	}
}

func TestRecordErrors(t *testing.T) {
	for _, test := range []struct {
		files int
		size  int64
		want  string
	}{{0, 1 << 20, "want 1 to 1000"}, {1, 1, "want at least 65536"}, {1, 1 << 20, "no such file"}} {
		if _, err := Record("/nonexistent/x", Rotation{test.files, test.size}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestMinuteForgets keeps recoveries of the last minute, as many as fit.
func TestMinuteForgets(t *testing.T) {
	var m minute
	at := func(ms int) wheel.Time { return wheel.Time(time.Hour).Add(time.Duration(ms) * time.Millisecond) }
	host := netip.MustParseAddr("10.0.0.1")
	for i := range 3 * maxMinute {
		m.add(recovery{at: at(i), repaired: true, tRec: time.Duration(i), host: host, lost: time.Microsecond, port: uint16(i % 7)})
	}
	now := at(3*maxMinute - 1)
	tally, _, bySecond := m.tally(now, at(0))
	if tally.All.Episodes != 60_001 || tally.Span != 60 || len(tally.Ports) != topLoserCount || len(tally.Hosts) != 1 {
		t.Errorf("%+v", tally)
	}
	if got := *tally.All.P50 * 1e9; got < 3*maxMinute-30_002 || got > 3*maxMinute-30_000 {
		t.Errorf("p50 of %v ns", got)
	}
	sum := 0.0
	for _, s := range bySecond {
		sum += s
	}
	if sum < 0.0599 || sum > 0.06001 {
		t.Errorf("%v s lost by second, want 0.06", sum)
	}
	for i := range 2 * maxMinute { // as many in 13 s: the window is shorter
		m.add(recovery{at: at(3*maxMinute + i/10)})
	}
	now = at(3*maxMinute + 2*maxMinute/10)
	if tally, _, _ = m.tally(now, at(0)); tally.All.Episodes != maxMinute || tally.Span < 6.5 || tally.Span > 6.6 {
		t.Errorf("%d episodes in %v s, want %d in 6.55", tally.All.Episodes, tally.Span, maxMinute)
	}
	if tally, _, _ = m.tally(now.Add(2*time.Minute), at(0)); tally.All.Episodes != 0 || tally.All.P50 != nil {
		t.Errorf("%+v after two minutes", tally.All)
	}
}

// TestLosersAreBounded counts more hosts than are kept: the worst stay.
func TestLosersAreBounded(t *testing.T) {
	all := map[uint16]loss{}
	for i := range 60_000 {
		r := recovery{lost: time.Duration(i % 1000)}
		if i%1000 == 999 {
			r.lost = time.Second
		}
		noteLoser(all, uint16(i), &r)
	}
	if len(all) > maxLosers {
		t.Errorf("%d ports are kept, want at most %d", len(all), maxLosers)
	}
	for i, l := range topLosers(all, func(p uint16) string { return fmt.Sprint(p) }) {
		if l.TimeLost != 1 {
			t.Errorf("loser %d lost %v s, want 1", i, l.TimeLost)
		}
	}
}
