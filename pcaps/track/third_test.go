package track

import (
	"path/filepath"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
)

// followThird returns the connections of a file of the third set, and their episodes by the packet
// of any retransmission.
func followThird(t *testing.T, pattern string) (conns []*Conn, episodes map[int64]*Episode, l Losses) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(captures, "third", pattern+"-*"))
	if len(names) != 1 {
		t.Skipf("no public capture %s", pattern)
	}
	r, err := capture.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	episodes = map[int64]*Episode{}
	tr := New(Config{Done: func(c *Conn) {
		conns = append(conns, c)
		l.AddConn(c)
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				l.Add(c, e)
				for _, rx := range e.Retransmissions {
					episodes[rx.Packet] = e
				}
			}
		}
		if lost, _ := c.TimeLost(); lost > span(c.First, c.Last) {
			t.Errorf("%s: connection %d lost %v of %v", pattern, c.ID, lost, span(c.First, c.Last))
		}
	}})
	r.OnICMPError(tr.ICMP)
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		tr.Add(p)
	}
	tr.Close()
	return conns, episodes, l
}

// TestThirdCaptures has the rows of captures/third/README.md that are about the tracker: what was
// read packet by packet.
func TestThirdCaptures(t *testing.T) {
	type row struct {
		file        string
		episodes    int // -1: any number
		lost        time.Duration
		unmeasured  int
		never       int // connections never established
		neverRepair int
		check       func(t *testing.T, e map[int64]*Episode)
	}
	kinds := func(want map[int64]Kind) func(*testing.T, map[int64]*Episode) {
		return func(t *testing.T, e map[int64]*Episode) {
			for packet, kind := range want {
				if e[packet] == nil || e[packet].Kind != kind {
					t.Errorf("packet %d: %v, want kind %v", packet, e[packet], kind)
				}
			}
		}
	}
	needed := func(packets ...int64) func(*testing.T, map[int64]*Episode) {
		return func(t *testing.T, e map[int64]*Episode) {
			for _, packet := range packets {
				if x := e[packet]; x == nil || x.Spurious != Necessary {
					t.Errorf("packet %d was needed: %+v", packet, x)
				}
			}
		}
	}
	const any = -1
	for _, r := range []row{
		{"t01", 5, 0, 5, 0, 0, func(t *testing.T, e map[int64]*Episode) {
			for _, packet := range []int64{91, 1126, 1221, 1252, 1467} {
				if x := e[packet]; x == nil || x.Gap != EchoGap || x.Repaired || x.Spurious != Undecided {
					t.Errorf("packet %d: %+v, want no T_rec and no verdict", packet, x)
				}
			}
		}},
		{"t02", 0, 0, 0, 0, 0, nil},
		{"t03", 0, 0, 0, 0, 0, nil},
		{"t04", 2, 0, 0, 0, 0, nil},
		{"t05", any, 0, 0, 0, any, nil},
		{"t06", 1, 823206 * time.Microsecond, 0, 0, 0, func(t *testing.T, e map[int64]*Episode) {
			if x := e[27]; x.Kind != PMTU || x.Timeouts != 0 || x.TimerWait != 0 {
				t.Errorf("packet 27: %v with %d timeouts, %v waiting", x.Kind, x.Timeouts, x.TimerWait)
			}
		}},
		{"t07", 1, any, 0, 0, 0, func(t *testing.T, e map[int64]*Episode) {
			needed(46)(t, e)
			kinds(map[int64]Kind{46: TLP})(t, e) // 48, the timeout, begins with the first missing one
		}},
		{"t08", 0, 0, 0, 154, 0, nil},
		{"t09", 0, 0, 0, 59, 0, nil},
		{"t10", 0, 0, 0, 238, 0, nil},
		{"t11", 0, 0, 0, 136, 0, nil},
		{"t12", any, any, 0, 40, 0, needed(3221)}, // a DSACK reports only a part of 3221
		{"t13", any, any, 0, 0, 0, nil},
		{"t14", any, 0, 0, 2, 0, nil},
		{"t15", 0, 0, 0, 1, 0, nil},
		{"t16", 10, 0, 0, 0, 0, nil},
		{"t17", 1, 0, 0, 0, 0, kinds(map[int64]Kind{1178: TLP})},
		{"t18", 1, any, 0, 0, 0, kinds(map[int64]Kind{1611: Fast})},
		{"t19", 0, 0, 0, 0, 0, nil},
		{"t20", 0, 0, 0, 0, 0, nil},
		// 1379, a FIN, was not needed.
		{"t21", 1, 0, 0, 0, 0, nil},
		// 330 answers 329.
		{"t22", any, any, any, 0, any, kinds(map[int64]Kind{330: Unknown})},
		{"t23", any, any, 0, 0, any, needed(1600, 1836)},
		{"t25", any, any, 0, any, any, needed(4, 70, 503, 1371, 1459, 1765)},
		{"t31", 0, 0, 0, 2, 0, nil},
	} {
		t.Run(r.file, func(t *testing.T) {
			_, episodes, l := followThird(t, r.file)
			unmeasured := 0
			for _, n := range l.Unmeasured {
				unmeasured += n
			}
			for _, x := range []struct {
				what      string
				got, want int
			}{
				{"episodes", l.Episodes, r.episodes}, {"µs lost", int(l.TimeLost.Microseconds()), int(r.lost / time.Microsecond)},
				{"unmeasured", unmeasured, r.unmeasured}, {"never established", l.NeverEstablished(), r.never},
				{"never repaired", l.NeverRepaired, r.neverRepair},
			} {
				if x.got != x.want && x.want != any && !(x.what == "µs lost" && r.lost == any) {
					t.Errorf("%d %s, want %d", x.got, x.what, x.want)
				}
			}
			if r.check != nil {
				r.check(t, episodes)
			}
		})
	}
}

// TestBothEndsAgree compares two pairs of captures of the same connections: each loss that the
// receiver's capture shows is one at the sender, whose peer echoes no timestamps.
func TestBothEndsAgree(t *testing.T) {
	for _, pair := range [][2]string{{"t23", "t24"}, {"t25", "t26"}} {
		at := [2]map[uint32]*Episode{{}, {}}
		for i, name := range pair {
			conns, _, _ := followThird(t, name)
			for _, c := range conns {
				for d := range c.Flows {
					for _, e := range c.Flows[d].Episodes {
						at[i][uint32(e.Seq)] = e
					}
				}
			}
		}
		same := 0
		for seq, r := range at[1] {
			s := at[0][seq]
			if s == nil || r.Spurious != Necessary || r.Evidence != ByCapture {
				continue
			}
			if same++; s.Spurious == Spurious {
				t.Errorf("%s: packet %d was needed at the receiver, and is %v by %v at the sender, packet %d", pair[1], r.DetectedPacket, s.Spurious, s.Evidence, s.DetectedPacket)
			}
		}
		if same < 4 {
			t.Errorf("%v: %d losses in common, want more", pair, same)
		}
	}
}
