package replay_test

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// packet is a packet of a capture, perhaps damaged.
type packet struct {
	capture.Packet
	icmp  *capture.ICMPError // instead of the segment
	frame capture.Frame      // of a file; without data, raw IP is as good
	from  []int64            // the undamaged packets that it was made from, by number; none is made from nothing
	added bool               // the damage added it: a copy, or from nothing
}

// packetsOf returns the packets of an undamaged capture.
func packetsOf(all []capture.Packet) (packets []*packet) {
	for i := range all {
		packets = append(packets, &packet{Packet: all[i], from: []int64{int64(i + 1)}})
	}
	return packets
}

// feed passes the packets of a capture, numbered from 1.
func feed(all []*packet, add func(*capture.Packet), icmp func(capture.ICMPError)) {
	for i, p := range all {
		if p.icmp != nil {
			e := *p.icmp
			e.Number, e.Time = int64(i+1), p.Time
			icmp(e)
			continue
		}
		q := p.Packet
		q.Number, q.Since = int64(i+1), p.Time.Sub(all[0].Time)
		if q.Problems &^= capture.ClockBack; i > 0 && p.Time < all[i-1].Time {
			q.Problems |= capture.ClockBack
		}
		add(&q)
	}
}

// damage damages captures, as taps, mirror ports, offloads and bad clocks do.
type damage struct {
	name  string        // a kind and its parameter
	moves time.Duration // how far it moves stamps, at most
	drift float64       // by how much it makes each span of time longer

	// start returns what passes each of a capture's packets on.
	start func(t *tape) func(p *packet)
}

// damage returns the damaged packets. The undamaged ones stay as they are.
func (d *damage) damage(all []*packet, seed uint64) []*packet {
	t := &tape{all: all, rng: rand.New(rand.NewPCG(seed, 0x64616d616765))}
	each := d.start(t)
	for t.at = range all {
		each(all[t.at])
	}
	t.release(1<<63 - 1)
	return t.out
}

// tape is a capture that is being damaged.
type tape struct {
	all   []*packet
	at    int // the packet that is being passed on
	rng   *rand.Rand
	out   []*packet
	later []*packet // by time
}

// pass writes a packet after all that is due before it.
func (t *tape) pass(p *packet) {
	t.release(p.Time)
	t.out = append(t.out, p)
}

// add writes a packet before the first packet of a later time.
func (t *tape) add(p *packet) {
	i, _ := slices.BinarySearchFunc(t.later, p.Time+1, func(q *packet, at wheel.Time) int { return cmp.Compare(q.Time, at) })
	t.later = slices.Insert(t.later, i, p)
}

// release writes what waits for a time up to at.
func (t *tape) release(at wheel.Time) {
	for len(t.later) > 0 && t.later[0].Time <= at {
		t.out, t.later = append(t.out, t.later[0]), t.later[1:]
	}
}

// changed returns the packet changed by f, unless it is an ICMP error.
func (p *packet) changed(f func(q *packet)) *packet {
	if p.icmp != nil {
		return p
	}
	q := *p
	f(&q)
	return &q
}

// copied returns a copy that the damage adds.
func (p *packet) copied(f func(q *packet)) *packet {
	return p.changed(func(q *packet) {
		q.added = true
		f(q)
	})
}

// side returns which end of its connection sent the packet: 0 for the one with the lower address,
// or port.
func (p *packet) side() int {
	if p.Src.Compare(p.Dst) < 0 {
		return 0
	}
	return 1
}

// dropping returns a damage that drops packets.
func dropping(name string, drop func(t *tape) func(p *packet) bool) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		gone := drop(t)
		return func(p *packet) {
			if !gone(p) {
				t.pass(p)
			}
		}
	}}
}

// dropped drops each packet by chance, and bursts drops eight in a row on average.
func dropped(name string, share float64) *damage {
	return dropping(name, func(t *tape) func(*packet) bool { return func(*packet) bool { return t.rng.Float64() < share } })
}

func bursts(name string, share float64) *damage {
	const length = 8
	return dropping(name, func(t *tape) func(*packet) bool {
		bad := false
		return func(*packet) bool {
			if bad {
				bad = t.rng.Float64() >= 1.0/length
			} else {
				bad = t.rng.Float64() < share/(length*(1-share))
			}
			return bad
		}
	})
}

// chosen drops the packets for which f returns true.
func chosen(name string, f func(t *tape, p *packet) bool) *damage {
	return dropping(name, func(t *tape) func(*packet) bool {
		return func(p *packet) bool { return p.icmp == nil && f(t, p) }
	})
}

// changing changes each packet.
func changing(name string, f func(t *tape, p *packet)) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		return func(p *packet) { t.pass(p.changed(func(q *packet) { f(t, q) })) }
	}}
}

// copying adds a copy of each packet that is changed by f and comes up to a span later, in order or
// not. With a fixed delay it comes as much later.
func copying(name string, span time.Duration, inOrder, fixed bool, f func(q *packet)) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		last := wheel.Time(0)
		return func(p *packet) {
			t.pass(p)
			if p.icmp != nil {
				return
			}
			t.add(p.copied(func(q *packet) {
				f(q)
				if q.Time = p.Time.Add(span); !fixed {
					q.Time = p.Time.Add(time.Duration(t.rng.Int64N(int64(span) + 1)))
				}
				if inOrder && last.Sub(p.Time) <= span { // else the clock stepped back
					q.Time = max(q.Time, last)
				}
				last = q.Time
			}))
		}
	}}
}

// otherSide adds a copy of each packet at another point of capture. What the end with the lower
// address sends passes the captured one first. At an end no time passes between a packet and its
// answer, so there only the order differs.
func otherSide(name string, f func(q *packet)) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		return func(p *packet) {
			q := p.copied(f)
			switch {
			case p.icmp != nil:
				t.pass(p)
			case p.side() == 0:
				t.pass(p)
				t.pass(q)
			default:
				t.pass(q)
				t.pass(p)
			}
		}
	}}
}

// behindRouter is a copy behind a router.
func behindRouter(q *packet) { q.TTL = max(q.TTL-1, 1) }

// behindNAT replaces the lower address by one for benchmarks.
func behindNAT(q *packet) {
	behindRouter(q)
	end := &q.Src
	if q.side() != 0 {
		end = &q.Dst
	}
	b := end.Addr().AsSlice()
	if len(b) == 4 {
		b[0], b[1] = 198, 18|b[1]&1
	} else {
		copy(b, []byte{0x20, 0x01, 0, 2, 0, 0})
	}
	outside, _ := netip.AddrFromSlice(b)
	*end = netip.AddrPortFrom(outside, end.Port())
}

// cut keeps so many bytes of each packet.
func cut(name string, n int) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		var live capture.Live
		return func(p *packet) {
			f := p.frame
			if f.Data == nil && p.icmp == nil {
				f = rawFrame(p)
			}
			f.Data = f.Data[:min(n, len(f.Data))]
			if p.icmp != nil {
				t.pass(p)
			} else if s, ok := live.Decode(&f); ok {
				s.Payload = slices.Clone(s.Payload)
				t.pass(p.changed(func(q *packet) { q.Packet = *s }))
			}
		}
	}}
}

// rawFrame returns an IPv4 packet without its payload.
func rawFrame(p *packet) capture.Frame {
	b := make([]byte, 20)
	b[0], b[8], b[9] = 4<<4|5, p.TTL, 6
	binary.BigEndian.PutUint16(b[4:], uint16(p.ID))
	src, dst := p.Src.Addr().As4(), p.Dst.Addr().As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	b = p.Header.AppendTo(b)
	length := uint32(len(b)) + p.Len
	binary.BigEndian.PutUint16(b[2:], uint16(length))
	tcp.SetChecksum(p.Src.Addr(), p.Dst.Addr(), b[20:])
	return capture.Frame{Time: p.Time, Data: b, Length: length, LinkType: pcapng.LinkTypeRaw}
}

// segments adds the segments on the wire behind each super-packet, as in the public captures: 10 µs
// behind it, and a microsecond each.
func segments(name string, size uint32) *damage {
	const longest = 1460
	return &damage{name: name, start: func(t *tape) func(*packet) {
		return func(p *packet) {
			if t.pass(p); p.Len <= max(longest, size) || p.Header.Flags.Has(tcp.SYN) {
				return
			}
			for i := uint32(0); i*size < p.Len; i++ {
				t.add(p.copied(func(q *packet) {
					q.Time = p.Time.Add(10*time.Microsecond + time.Duration(i)*time.Microsecond)
					q.Header.Seq, q.Len, q.Payload = p.Header.Seq.Add(i*size), min(size, p.Len-i*size), nil
					if q.Problems &^= capture.PartialChecksum; q.HasID {
						q.ID = uint32(uint16(p.ID + i))
					}
					if (i+1)*size < p.Len {
						q.Header.Flags &^= tcp.PSH | tcp.FIN
					}
				}))
			}
		}
	}}
}

// joining joins the segments of one direction that leave within so long into a super-packet, as
// Linux's tcp_gro_receive does: it replaces them, at the time of the last, or comes before them.
func joining(name string, within time.Duration, replaces bool) *damage {
	d := &damage{name: name, start: func(t *tape) func(*packet) {
		first, dropped := map[*packet]*packet{}, map[*packet]bool{} // super-packets by the segment at which they come
		for _, run := range runs(t.all, within) {
			joined := run[0].copied(func(q *packet) {
				last := run[len(run)-1]
				q.Len, q.from, q.Payload = last.Header.Seq.Add(last.Len).Sub(q.Header.Seq), nil, nil
				q.Header.Flags |= last.Header.Flags
				q.Problems |= capture.PartialChecksum
				for _, p := range run {
					q.from = append(q.from, p.from...)
					dropped[p] = replaces
				}
				if q.added = !replaces; replaces {
					q.Time = last.Time
				}
			})
			first[map[bool]*packet{false: run[0], true: run[len(run)-1]}[replaces]] = joined
		}
		return func(p *packet) {
			if joined := first[p]; joined != nil {
				t.pass(joined)
			}
			if !dropped[p] {
				t.pass(p)
			}
		}
	}}
	if replaces {
		d.moves = within
	}
	return d
}

// runs returns the segments that fit together, two and more each.
func runs(all []*packet, within time.Duration) (found [][]*packet) {
	const most = 64_000 // bytes
	type flow struct{ src, dst netip.AddrPort }
	open := map[flow][]*packet{}
	end := func(f flow) {
		if len(open[f]) > 1 {
			found = append(found, open[f])
		}
		delete(open, f)
	}
	for _, p := range all {
		if p.icmp != nil {
			continue
		}
		f := flow{p.Src, p.Dst}
		end(flow{p.Dst, p.Src}) // perhaps this answers it
		if run := open[f]; len(run) > 0 {
			first, last := run[0], run[len(run)-1]
			a, b := &last.Header, &p.Header
			if b.Seq != a.Seq.Add(last.Len) || b.Ack != a.Ack || a.Options != b.Options || a.Flags.Has(tcp.PSH) || last.Len != first.Len ||
				p.Len > first.Len || b.Seq.Sub(first.Header.Seq)+p.Len > most || p.Interface != first.Interface || p.Path != first.Path ||
				p.Time.Sub(first.Time).Abs() > within {
				end(f)
			}
		}
		if p.Len > 0 && p.Header.Flags&^tcp.PSH == tcp.ACK {
			open[f] = append(open[f], p)
		} else {
			end(f)
		}
	}
	for f := range open {
		end(f)
	}
	return found
}

// clock stamps packets at another time, and leaves their order.
func clock(name string, moves time.Duration, drift float64, start func(t *tape) func(at wheel.Time) wheel.Time) *damage {
	return &damage{name: name, moves: moves, drift: drift, start: func(t *tape) func(*packet) {
		stamp := start(t)
		return func(p *packet) {
			q := *p
			q.Time = stamp(p.Time)
			t.out = append(t.out, &q)
		}
	}}
}

// stepping steps the clock forward and back, in turn.
func stepping(name string, by time.Duration) *damage {
	const every = 100 // packets on average
	return clock(name, by, 0, func(t *tape) func(wheel.Time) wheel.Time {
		ahead := false
		return func(at wheel.Time) wheel.Time {
			if ahead = ahead != (t.rng.IntN(every) == 0); ahead {
				return at.Add(by)
			}
			return at
		}
	})
}

func drifting(name string, by float64) *damage {
	return clock(name, 0, by, func(t *tape) func(wheel.Time) wheel.Time {
		return func(at wheel.Time) wheel.Time {
			return at.Add(time.Duration(by * float64(at.Sub(t.all[0].Time))))
		}
	})
}

func rounding(name string, to time.Duration) *damage {
	return clock(name, to, 0, func(*tape) func(wheel.Time) wheel.Time {
		return func(at wheel.Time) wheel.Time { return at - at%wheel.Time(to) }
	})
}

// apart captures what the end with the higher address sends so much late.
func apart(name string, by time.Duration) *damage {
	return &damage{name: name, moves: by, start: func(t *tape) func(*packet) {
		return func(p *packet) {
			if p.icmp != nil || p.side() == 0 {
				t.pass(p)
				return
			}
			t.add(p.changed(func(q *packet) { q.Time = p.Time.Add(by) }))
			t.release(p.Time)
		}
	}}
}

// ticking has timestamps count so many times faster.
func ticking(name string, mul, div uint32) *damage {
	return changing(name, func(_ *tape, q *packet) {
		o := &q.Header.Options
		o.TSVal, o.TSEcr = o.TSVal*mul/div, o.TSEcr*mul/div
	})
}

// randomID has copies of a packet the same identification, as its sender drew it once: without
// identifications, copies cannot be told from retransmissions.
func randomID(t *tape, q *packet) {
	if !q.HasID || q.Src.Addr().Is6() {
		return
	}
	h := uint64(0)
	if q.ID == 0 {
		h = uint64(t.at)
	}
	o := &q.Header.Options
	for _, v := range []uint64{
		uint64(q.ID), uint64(q.Header.Seq)<<32 | uint64(q.Header.Ack), uint64(o.TSVal)<<32 | uint64(o.TSEcr),
		uint64(q.Src.Port())<<48 | uint64(q.Dst.Port())<<32 | uint64(q.Len),
	} {
		h = (h ^ v + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		h ^= h >> 31
	}
	q.ID = uint32(uint16(h >> 17))
}

// guest sends a segment of an added connection's client (0) or server (1), so long after its start.
// Sequence numbers count from the SYN, which is 0.
type guest func(after time.Duration, end int, flags tcp.Flags, seq, ack, size uint32)

// guests adds a connection for each hundred packets. They look like the first segment
// of the capture, and go to where it went.
func guests(name string, talk func(g guest, icmp func(after time.Duration))) *damage {
	return &damage{name: name, start: func(t *tape) func(*packet) {
		var first *packet
		return func(p *packet) {
			if t.pass(p); first == nil && p.icmp == nil {
				first = p
			}
			if first == nil || t.at%100 != 99 {
				return
			}
			n, server := t.at/100, first.Dst.Addr()
			from := []byte{198, 19, byte(n >> 8), byte(n)}
			if server.Is6() {
				from = append(append([]byte{0x20, 0x01, 0, 2}, make([]byte, 10)...), from[2:]...)
			}
			client, _ := netip.AddrFromSlice(from)
			ends := [2]netip.AddrPort{netip.AddrPortFrom(client, 20_000+uint16(n%40_000)), netip.AddrPortFrom(server, 9)} // discard
			isn := [2]tcp.Seq{tcp.Seq(t.rng.Uint32()), tcp.Seq(t.rng.Uint32())}
			id := t.rng.Uint32()
			send := func(after time.Duration, end int, flags tcp.Flags, seq, ack, size uint32) {
				id++
				q := &packet{Packet: first.Packet, added: true}
				q.Time, q.Src, q.Dst, q.Len, q.ID, q.Payload = p.Time.Add(after), ends[end], ends[1-end], size, uint32(uint16(id)), nil
				q.Header = tcp.Header{SrcPort: q.Src.Port(), DstPort: q.Dst.Port(), Seq: isn[end].Add(seq), Flags: flags, Window: 65_000}
				if flags.Has(tcp.ACK) {
					q.Header.Ack = isn[1-end].Add(ack)
				} else {
					q.Header.Options = tcp.Options{HasMSS: true, MSS: 1400}
				}
				t.add(q)
			}
			talk(send, func(after time.Duration) {
				e := &packet{added: true, icmp: &capture.ICMPError{From: server, Src: ends[0], Dst: ends[1], Seq: isn[0]}}
				e.Time = p.Time.Add(after)
				t.add(e)
			})
		}
	}}
}

// synTimes are when Linux sends a SYN: after 1 s, and twice as long each time.
var synTimes = []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second}

const us, ms = time.Microsecond, time.Millisecond

// damages are all ways in which captures are damaged.
var damages = []*damage{
	// An overloaded tap.
	dropped("drop:0.1%", 0.001), dropped("drop:1%", 0.01), dropped("drop:5%", 0.05), bursts("burst:1%", 0.01), bursts("burst:5%", 0.05),

	// Filters and asymmetric routes.
	chosen("noacks", func(_ *tape, p *packet) bool {
		return p.Len == 0 && p.Header.Flags&(tcp.ACK|tcp.SYN|tcp.FIN|tcp.RST) == tcp.ACK
	}),
	chosen("oneway:low", func(_ *tape, p *packet) bool { return p.side() != 0 }),
	chosen("oneway:high", func(_ *tape, p *packet) bool { return p.side() == 0 }),

	// Mirror ports, interfaces and tunnels.
	copying("twice:0s", 0, false, true, func(*packet) {}), copying("twice:30us", 30*us, false, true, func(*packet) {}),
	copying("twice:300us", 300*us, false, true, func(*packet) {}),
	copying("mirror:30us", 30*us, true, false, behindRouter), copying("mirror:300us", 300*us, true, false, behindRouter),
	copying("vlan:30us", 30*us, true, false, func(q *packet) { q.Path ^= 0x123 }),
	copying("vlan:300us", 300*us, true, false, func(q *packet) { q.Path ^= 0x123 }),
	copying("swapped:300us", 300*us, false, false, behindRouter),
	otherSide("nat", behindNAT), otherSide("tunnel", func(q *packet) { q.Path ^= 0x456 }),

	// TSO and GRO on bridges and hypervisors.
	segments("segments:1448", 1448), joining("tso:100us", 100*us, false), joining("gro:100us", 100*us, true),

	// Snap lengths and ring buffers.
	cut("cut:54", 54), cut("cut:68", 68), cut("cut:96", 96),
	chosen("begin:33%", func(t *tape, _ *packet) bool { return t.at < len(t.all)*33/100 }),
	chosen("end:33%", func(t *tape, _ *packet) bool { return t.at >= len(t.all)-len(t.all)*33/100 }),

	// Clocks of virtual machines and network cards.
	stepping("step:5ms", 5*ms), stepping("step:50ms", 50*ms), drifting("drift:100ppm", 100e-6),
	rounding("resolution:1ms", ms), rounding("resolution:4ms", 4*ms), rounding("resolution:16ms", 16*ms),
	apart("apart:100us", 100*us), apart("apart:1ms", ms),

	// Stacks and middleboxes.
	changing("echoes", func(t *tape, q *packet) {
		if q.Header.Options.TSEcr != 0 {
			q.Header.Options.TSEcr = max(1, t.rng.Uint32())
		}
	}),
	changing("nostamps", func(_ *tape, q *packet) {
		q.Header.Options.HasTimestamps, q.Header.Options.TSVal, q.Header.Options.TSEcr = false, 0, 0
	}),
	ticking("ticks:1000", 1000, 1), ticking("ticks:1/10", 1, 10), ticking("ticks:1/100", 1, 100),
	changing("ids:zero", func(_ *tape, q *packet) {
		if q.Src.Addr().Is4() {
			q.ID = 0
		}
	}),
	changing("ids:random", randomID),

	// Scans and firewalls.
	guests("unanswered", func(g guest, _ func(time.Duration)) {
		for _, at := range synTimes {
			g(at, 0, tcp.SYN, 0, 0, 0)
		}
	}),
	guests("refused", func(g guest, _ func(time.Duration)) {
		for i := range time.Duration(3) { // as Windows does
			g(i*500*ms, 0, tcp.SYN, 0, 0, 0)
			g(i*500*ms+100*us, 1, tcp.RST|tcp.ACK, 0, 1, 0)
		}
	}),
	guests("unreachable", func(g guest, icmp func(time.Duration)) {
		for _, at := range synTimes {
			g(at, 0, tcp.SYN, 0, 0, 0)
			icmp(at + ms)
		}
	}),
	guests("fins", func(g guest, _ func(time.Duration)) {
		g(0, 0, tcp.SYN, 0, 0, 0)
		g(10*ms, 1, tcp.SYN|tcp.ACK, 0, 1, 0)
		g(10*ms, 0, tcp.ACK, 1, 1, 0)
		g(11*ms, 0, tcp.ACK|tcp.PSH, 1, 1, 100)
		g(21*ms, 1, tcp.ACK|tcp.PSH, 1, 101, 200)
		g(21*ms, 0, tcp.ACK, 101, 201, 0)
		for _, at := range []time.Duration{100, 310, 720, 1550, 3200} {
			g(at*ms, 0, tcp.ACK|tcp.FIN, 101, 201, 0)
		}
	}),
}

// damagesNamed returns the damages of these names.
func damagesNamed(t *testing.T, names ...string) (all []*damage) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(damages, func(d *damage) bool { return d.name == name })
		if i < 0 {
			t.Fatalf("no damage %s", name)
		}
		all = append(all, damages[i])
	}
	return all
}
