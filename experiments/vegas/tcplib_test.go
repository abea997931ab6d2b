package vegas

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// TestTcplibTables checks that each table is a distribution, and some medians and means of
// tcplib's header files.
func TestTcplibTables(t *testing.T) {
	all := readTcplib()
	for name, points := range all {
		last := points[len(points)-1]
		for i := range points[1:] {
			if points[i+1].share <= points[i].share || points[i+1].value < points[i].value {
				t.Errorf("%s, row %d: %v after %v, want both to rise", name, i+2, points[i+1], points[i])
			}
		}
		if last.share != 1 {
			t.Errorf("%s ends at a share of %v, want 1", name, last.share)
		}
	}
	for _, c := range []struct {
		table        string
		median, mean float64
	}{
		{"ftp itemsize", 508.4, 39861}, {"ftp nitems", 3.24, 7.12}, {"nntp itemsize", 1497, 2023}, {"smtp itemsize",
			440.5, 1674}, {"telnet duration", 168421, 674597},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var drawn []float64
		for range 20_000 {
			drawn = append(drawn, all.draw(r, c.table))
		}
		if got := stat.Median(drawn); math.Abs(got/c.median-1) > 0.05 {
			t.Errorf("%s: the median of the draws is %v, want %v within 5 %%", c.table, got, c.median)
		}
		if got := all.mean(c.table); math.Abs(got/c.mean-1) > 0.02 {
			t.Errorf("%s: the mean is %v, want %v within 2 %%", c.table, got, c.mean)
		}
	}
}

// TestTcplibConversations draws conversations: four in five are mail, and few carry most bytes.
func TestTcplibConversations(t *testing.T) {
	all, r := readTcplib(), rand.New(rand.NewPCG(3, 4))
	const n = 20_000
	typed, large, bytes, ofLarge := 0, 0, 0.0, 0.0
	for range n {
		c := all.converse(r)
		if c.lasts > 0 {
			typed++
		}
		if bytes += float64(c.bytes); c.bytes > 100_000 {
			large++
			ofLarge += float64(c.bytes)
		}
	}
	if share := float64(typed) / n; math.Abs(share-0.0612/0.4682) > 0.01 {
		t.Errorf("%v of the conversations are telnet's, want 0.131", share)
	}
	if large > n/20 || ofLarge < bytes/2 {
		t.Errorf("%d of %d conversations have more than 100 KB, and %v of %v bytes, want few with most", large, n,
			ofLarge, bytes)
	}
	if mean := tcplibBytes(); mean < 15_000 || mean > 40_000 {
		t.Errorf("a conversation has %v bytes in the mean, want about 25,000", mean)
	}
}

// TestTraffic counts conversations: at half of the bottleneck's rate 1000 of 10 KB begin in 100 s,
// and one that lasts 10 s writes a packet each second.
func TestTraffic(t *testing.T) {
	link := bottleneck{rate: 1_600_000, buffers: 1000, delay: 50 * time.Millisecond, access: 10_000_000,
		initialWindow: 1, old: testbed.MustTimers("bsd" + tableivOld)}
	counters := func(load, mean float64, draw func(*rand.Rand) conversation) tcp.Counters {
		t.Helper()
		d, err := link.dumbbell(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		traffic := d.add(load, mean, 1, draw)
		d.World.Net.Run(wheel.Time(100 * time.Second))
		if faults := d.World.Faults(); traffic.err != nil || len(faults) > 0 {
			t.Fatal(traffic.err, faults)
		}
		from, _ := d.others()
		return from.Counters()
	}
	c := counters(0.5, 10_000, func(*rand.Rand) conversation { return conversation{bytes: 10_000} })
	if c.ActiveOpens < 900 || c.ActiveOpens > 1100 || c.OutSegs < 7*c.ActiveOpens {
		t.Errorf("%d conversations and %d segments in 100 s, want about 1000, each of 7 segments of data",
			c.ActiveOpens, c.OutSegs)
	}
	packets := 0
	c = counters(0.5, 5e6, func(*rand.Rand) conversation {
		return conversation{lasts: 10 * time.Second, packet: func() (uint32, time.Duration) {
			packets++
			return 100, time.Second
		}}
	})
	if n := int(c.ActiveOpens); n < 1 || packets < 9*n || packets > 11*n {
		t.Errorf("%d packets of %d conversations of 10 s, want one each second", packets, n)
	}
}
