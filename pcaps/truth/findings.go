package truth

import (
	"fmt"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// findings are what analyze and replay say of a capture, by the packets of the undamaged one.
type findings struct {
	episodes []found
	packets  map[int64]retransmission // by packet
	lost     time.Duration
	segments int64
	verdicts map[string]replay.Effect // by policy
	panicked string
}

// found is an episode.
type found struct {
	packets []int64 // of its retransmissions, by their undamaged packets; 0 is none
	seen    int64   // the first of them in the damaged capture
	flow    flowEnds
	*track.Episode
}

type flowEnds struct{ src, dst netip.AddrPort }

// retransmission is what an undamaged packet was called.
type retransmission struct {
	episode   *found
	kind      track.Kind
	needed    track.Spuriousness
	ambiguous bool
}

// damagePolicies are the policies whose verdicts are compared.
var damagePolicies = []string{"per-segment@1ms", "rfc6298", "bsd"}

// decode returns the TCP segments of packets, numbered from 1, and calls failed for ICMP errors.
func decode(all damage.Packets, add func(*capture.Packet), failed func(capture.ICMPError)) {
	var live capture.Live
	live.OnICMPError(failed)
	for _, p := range all {
		if s, ok := live.Decode(&p.Frame); ok {
			add(s)
		}
	}
}

// find analyses packets, and replays them if the study is not nil. A panic is a finding, too.
func find(name string, all damage.Packets, study *replay.Study) (f *findings) {
	f = &findings{packets: map[int64]retransmission{}, verdicts: map[string]replay.Effect{}}
	defer func() {
		if r := recover(); r != nil {
			f.panicked = fmt.Sprintf("%v\n%s", r, ownFrames(string(debug.Stack())))
		}
	}()
	origin := func(number int64) int64 {
		if number < 1 || number > int64(len(all)) {
			return 0
		}
		return all[number-1].Number
	}
	var results []*replay.Result
	done := func(c *track.Conn, s *replay.CapturedConn) {
		lost, _ := c.TimeLost()
		f.lost += lost
		for i := range c.Flows {
			w := &c.Flows[i]
			f.segments += w.DataPackets
			for _, e := range w.Episodes {
				f.episodes = append(f.episodes, found{seen: e.DetectedPacket, flow: flowEnds{w.Src, w.Dst}, Episode: e})
				x := &f.episodes[len(f.episodes)-1]
				for k := range e.Retransmissions {
					r := &e.Retransmissions[k]
					x.packets = append(x.packets, origin(r.Packet))
				}
			}
		}
		if s != nil {
			r, err := study.Run(name, c, s)
			if err != nil {
				f.panicked = err.Error()
				return
			}
			results = append(results, r)
		}
	}
	if study == nil {
		tr := track.New(track.Config{Done: func(c *track.Conn) { done(c, nil) }})
		decode(all, tr.Add, tr.ICMP)
		tr.Close()
	} else {
		rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, _ error) { done(c, s) }})
		decode(all, rec.Add, rec.ICMP)
		rec.Close()
		for _, sum := range study.Summarize(results) {
			f.verdicts[sum.Policy] = sum.Effect
		}
	}
	for i := range f.episodes {
		x := &f.episodes[i]
		for k, n := range x.packets {
			r := &x.Retransmissions[k]
			if _, ok := f.packets[n]; n > 0 && !ok {
				f.packets[n] = retransmission{x, r.Kind, r.Spurious, k == 0 && x.Ambiguous}
			}
		}
	}
	return f
}

// ownFrames returns the lines of a stack that are this project's.
func ownFrames(stack string) string {
	var own []string
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i++ {
		if strings.HasPrefix(lines[i], "tcpwheel/") && !strings.Contains(lines[i], "truth.find") {
			own = append(own, lines[i], lines[i+1])
		}
	}
	return strings.Join(own[:min(len(own), 8)], "\n")
}

// undamaged is a capture with its findings, and what is needed to compare others with it.
type undamaged struct {
	name string
	all  damage.Packets
	*findings
	study *replay.Study // nil: it is not replayed
}

// survivors says which packets a damage has left, by number.
type survivors struct {
	all  damage.Packets
	left []bool
}

func newSurvivors(all, damaged damage.Packets) survivors {
	s := survivors{all, make([]bool, len(all)+1)}
	for _, p := range damaged {
		if p.Added {
			continue
		}
		if p.Number > 0 {
			s.left[p.Number] = true
		}
		for _, n := range p.More {
			s.left[n] = true
		}
	}
	return s
}

// gap returns how far the time of an event may move that a packet showed: nothing if the packet is
// left, else the time to the next one left of its direction. ok is false if there is none.
func (s survivors) gap(packet int64, forward bool) (gap time.Duration, ok bool) {
	if packet < 1 || int(packet) > len(s.all) || s.left[packet] {
		return 0, true
	}
	p := s.all[packet-1]
	if p.Segment == nil {
		return 0, true
	}
	step := int64(1)
	if !forward {
		step = -1
	}
	for n := packet + step; n >= 1 && int(n) <= len(s.all); n += step {
		q := s.all[n-1]
		if s.left[n] && q.Segment != nil && q.Segment.Src == p.Segment.Src && q.Segment.Dst == p.Segment.Dst {
			return q.Time.Sub(p.Time).Abs(), true
		}
	}
	return 0, false
}

// slack returns by how much an episode's times may move. ok is false if there is no bound, as what
// follows or precedes it is missing.
func (s survivors) slack(d *damage.Damage, e *track.Episode) (slack time.Duration, ok bool) {
	slack = 2*d.Moves() + time.Duration(d.Drift()*float64(max(e.TRec, e.Length)))
	for _, n := range []struct {
		packet  int64
		forward bool
	}{{e.FirstPacket, false}, {e.FirstPacket, true}, {e.DetectedPacket, true}, {e.RepairPacket, true}, {e.AckedPacket, true}, {e.EndedPacket, true}} {
		g, ok := s.gap(n.packet, n.forward)
		if !ok {
			return 0, false
		}
		slack += g
	}
	return slack, true
}

// within reports whether two times are as near as the gate asks for, apart from what may move them.
func within(a, b, slack time.Duration) bool {
	return (a - b).Abs() <= max(2*time.Millisecond, b/10)+slack
}

// runDamage returns the damaged packets, in memory.
func runDamage(d *damage.Damage, all damage.Packets, seed uint64) (damaged damage.Packets, counts damage.Counts, err error) {
	counts, err = d.Run(all.Source(), func(p *damage.Packet) error {
		damaged = append(damaged, p)
		return nil
	}, seed)
	return damaged, counts, err
}
