package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// follower has both ends of a run hear what they heard in the capture, whatever they send, until an instant at which they are let go: from then on
// they hear each other. What left before that instant in the capture still arrives.
type follower struct {
	run    *run
	from   wheel.Time // the capture begins: the handshake before it, if it has none, is the run's own
	until  wheel.Time
	free   bool
	timers [2]wheel.Timer
	next   [2]int
	again  [2]int        // of the capture's retransmissions
	tick   time.Duration // of timestamps

	first  [2]*host.Datagram // that each end sent
	began  [2]wheel.Time     // when
	stamps [2][]stampAt      // timestamps that each sent
	kept   [2][]kept         // what each has sent, as far as the capture does not acknowledge it yet
	told   [2]kept           // the last that each has sent which told of more
	claims [2]int64          // of how many octets that told
	heard  [2]arrived        // what each has heard to have arrived
}

// kept is a packet that was not sent on its way.
type kept struct {
	at            wheel.Time
	d             host.Datagram
	pos, end, ack int64
}

// listener hands an end what it hears.
type listener struct {
	f   *follower
	end int
}

// Expire implements sim.Handler.
func (l listener) Expire(now wheel.Time) { l.f.listen(now, l.end) }

// release lets the ends go when it is time.
type release struct{ f *follower }

// Expire implements sim.Handler.
func (r release) Expire(wheel.Time) { r.f.letGo() }

// follow has a run follow the capture until an instant. Nothing has happened in it yet.
func (r *run) follow(until wheel.Time) {
	f := &follower{run: r, until: until, tick: tcp.DefaultConfig(r.options.Policy).TimestampTick}
	k := &r.script.wire
	if len(k.heard[0])+len(k.heard[1]) > 0 && (!k.hasSYN[0] || !k.hasSYN[1]) {
		f.from = r.script.began()
	}
	net := r.world.Net
	for d := range f.timers {
		f.timers[d] = net.NewTimer(listener{f, d})
		if all := k.heard[d]; len(all) > 0 {
			f.await(d)
		}
	}
	if until <= r.script.End {
		net.StartTimer(net.NewTimer(release{f}), max(until, 0))
	}
	r.follower = f
}

// holds reports whether what an end sends at now goes nowhere.
func (f *follower) holds(now wheel.Time) bool { return !f.free && now >= f.from }

// keep takes what an end sends while it only follows the capture.
func (f *follower) keep(now wheel.Time, flow int, d *host.Datagram, pos, end, ack int64) {
	p := f.run.paths[flow]
	k := kept{now, *d, pos, end, ack}
	if end > pos {
		try := int(d.Attempt)
		x := passage{at: now, start: pos, end: end, try: try}
		if t := p.way.try(pos, try); t != nil {
			x.lost = t.Fate == Lost
		}
		p.sent, p.high = append(p.sent, x), max(p.high, end)
		f.kept[flow] = append(f.kept[flow], k)
	}
	if p.answers != nil {
		if n := p.answers.heard.octets(); n > f.claims[flow] {
			f.claims[flow], f.told[flow] = n, k
		}
	}
}

// note takes in what an end sends, held or not: its first packet, and its timestamps.
func (f *follower) note(now wheel.Time, flow int, d *host.Datagram) {
	h := &d.Body.Header
	if f.first[flow] == nil {
		first := *d
		f.first[flow], f.began[flow] = &first, now
	}
	if s := f.stamps[flow]; h.Options.HasTimestamps && (len(s) == 0 || s[len(s)-1].ts != h.Options.TSVal) {
		f.stamps[flow] = append(s, stampAt{now, h.Options.TSVal})
	}
}

// listen hands an end what arrives there now.
func (f *follower) listen(now wheel.Time, end int) {
	if now >= f.until {
		f.letGo()
	}
	all := f.run.script.wire.heard[end]
	for f.next[end] < len(all) && all[f.next[end]].at <= now {
		x := &all[f.next[end]]
		f.next[end]++
		if !f.free {
			f.resend(now, end, x.sent)
			f.hear(now, end, x)
		} else if x.sent < f.until {
			f.hear(now, end, x)
		}
	}
	if !f.free {
		f.resend(now, end, now.Add(-wireBand))
	}
	f.await(end)
}

// await starts the timer of an end for what comes next.
func (f *follower) await(end int) {
	k := &f.run.script.wire
	next := wheel.Time(-1)
	if all := k.again[end]; !f.free && f.again[end] < len(all) {
		next = all[f.again[end]].at.Add(wireBand)
	}
	all := k.heard[end]
	for f.free && f.next[end] < len(all) && all[f.next[end]].sent >= f.until {
		f.next[end]++
	}
	if f.next[end] < len(all) && (next < 0 || all[f.next[end]].at < next) {
		next = all[f.next[end]].at
	}
	if next >= 0 {
		f.run.world.Net.StartTimer(f.timers[end], next)
	}
}

// resend has an end send again what it had sent again in the capture before an instant, if its own timers have not done so: a repair that it is
// about to hear of is then no round trip of what was lost.
func (f *follower) resend(now wheel.Time, end int, before wheel.Time) {
	all := f.run.script.wire.again[end]
	for ; f.again[end] < len(all) && all[f.again[end]].at <= before; f.again[end]++ {
		x := &all[f.again[end]]
		session, first := f.run.apps[end].session, f.first[end]
		if session == nil || first == nil || x.at < f.from {
			continue
		}
		iss := first.Body.Header.Seq
		h := f.run.hosts[end]
		h.Engine().Resend(now, session.Socket(), tcp.Range{Start: iss + tcp.Seq(x.start), End: iss + tcp.Seq(x.end)}, uint8(min(x.try, 255)))
		h.Flush()
	}
}

// hear hands an end a packet of the capture, in the numbers of this run.
func (f *follower) hear(now wheel.Time, end int, x *hearing) {
	peer := f.first[1-end]
	s := f.run.script
	answers := x.packet < 0 || s.wire.packets[x.packet].flags.Has(tcp.ACK)
	if peer == nil || answers && f.first[end] == nil {
		return // it answers nothing that this run has sent
	}
	f.learn(end, x)
	d := *peer
	h, o := &d.Body.Header, &d.Body.Header.Options
	syn := x.start == 0 && x.end > 0
	h.Seq = peer.Body.Header.Seq + tcp.Seq(x.start)
	scale := o.WScale
	if !o.HasWScale {
		scale = 0
	}
	if !syn {
		*o = tcp.Options{HasTimestamps: o.HasTimestamps}
	}
	h.Flags, h.Ack = tcp.ACK, 0
	n := x.end - x.start
	if x.packet >= 0 {
		p := &s.wire.packets[x.packet]
		h.Flags = p.flags
		if !x.tail && x.end > x.start {
			h.Flags &^= tcp.FIN | tcp.PSH
		}
		h.Window = s.wire.window(1-end, p, scale)
		if answers {
			for i := range p.sacks {
				at := x.ack + int64(int32(p.sack[i].Start-p.ack))
				start := f.first[end].Body.Header.Seq + tcp.Seq(at)
				o.SACK[i] = tcp.Range{Start: start, End: start + tcp.Seq(p.sack[i].Len())}
			}
			o.NumSACK = p.sacks
		}
		if o.HasTimestamps && answers {
			o.TSEcr = f.echo(end, p.ecr)
		}
	}
	if h.Flags.Has(tcp.ACK) {
		h.Ack = f.first[end].Body.Header.Seq + tcp.Seq(x.ack)
	}
	if o.HasTimestamps {
		o.TSVal = f.stamp(1-end, x.sent)
	}
	for _, flag := range []tcp.Flags{tcp.SYN, tcp.FIN} {
		if h.Flags.Has(flag) {
			n--
		}
	}
	d.Body.Len, d.Body.Offset = uint32(max(n, 0)), uint64(max(x.start-1, 0))
	d.Start, d.End, d.Attempt = d.Body.Offset, d.Body.Offset+uint64(d.Body.Len), 1
	d.Size = 40 + uint32(h.HeaderLen()) + d.Body.Len
	f.run.hosts[end].Receive(now, 0, &d)
}

// learn notes what a packet tells an end, and forgets what needs no more to be kept.
func (f *follower) learn(end int, x *hearing) {
	p := f.run.paths[end]
	f.count(end, x)
	if x.ack > 0 {
		if n := len(p.acks); n == 0 || p.acks[n-1].Took < spanOf(uint64(x.ack)) {
			p.acks = append(p.acks, Delay{f.run.world.Net.Now(), spanOf(uint64(x.ack))})
		}
	}
	if all := f.kept[end]; len(all) >= 64 && len(all)&(len(all)-1) == 0 {
		f.kept[end] = slices.DeleteFunc(all, func(k kept) bool { return k.end <= f.heard[end].una })
	}
}

// count takes in what a packet tells an end to have arrived.
func (f *follower) count(end int, x *hearing) {
	a := &f.heard[end]
	a.una = max(a.una, x.ack)
	if x.packet >= 0 {
		p := &f.run.script.wire.packets[x.packet]
		for i := range p.sacks {
			b := block{x.ack + int64(int32(p.sack[i].Start-p.ack)), 0}
			if b.end = b.start + int64(p.sack[i].Len()); b.start >= a.una && b.end > b.start {
				a.add(b)
			}
		}
	}
	a.trim()
}

// echo returns the timestamp of an end for one of the captured end: what it had sent last when the captured end sent that.
func (f *follower) echo(end int, ecr uint32) uint32 {
	sent := f.stamps[end]
	if len(sent) == 0 {
		return 0
	}
	captured := f.run.script.wireStamps[end]
	i, found := slices.BinarySearchFunc(captured, ecr, func(a stampAt, ts uint32) int { return int(int32(a.ts - ts)) })
	if !found {
		return sent[len(sent)-1].ts
	}
	at := captured[i].at
	k, _ := slices.BinarySearchFunc(sent, at.Add(wireBand), func(a stampAt, at wheel.Time) int { return cmp.Compare(a.at, at) })
	if last := sent[max(k-1, 0)]; at.Sub(last.at).Abs() <= wireBand {
		return last.ts
	}
	return f.stamp(end, at) // it has sent nothing then
}

// stamp returns the timestamp of an end at an instant.
func (f *follower) stamp(end int, at wheel.Time) uint32 {
	return f.first[end].Body.Header.Options.TSVal + uint32(int64(at)/int64(f.tick)) - uint32(int64(f.began[end])/int64(f.tick))
}

// letGo lets the ends go. What they have sent, and the captured ends had not by then, is on its way.
func (f *follower) letGo() {
	if f.free {
		return
	}
	for d := range f.again {
		f.resend(f.until, d, f.until-1)
	}
	f.free = true
	r := f.run
	for d, p := range r.paths {
		// What left before in the capture, and has not arrived.
		to := 1 - d
		for i := range r.script.wire.heard[to] {
			x := &r.script.wire.heard[to][i]
			if x.sent >= f.until {
				continue
			}
			if i >= f.next[to] {
				f.count(to, x)
			}
			if x.end > x.start && !x.late {
				p.last = max(p.last, x.at)
			}
		}
		p.index = p.way.before(f.until)
	}
	for d, p := range r.paths {
		for i := range f.kept[d] {
			k := &f.kept[d][i]
			if k.end <= f.heard[d].una || p.way.left(k.pos, k.end, int(k.d.Attempt), f.until) {
				continue
			}
			x := p.judge(k.at, k.pos, k.end, int(k.d.Attempt))
			if !x.lost {
				p.launch(f.until, max(x.arrives, f.until), &k.d, k.end, k.ack)
			}
		}
		if k := &f.told[d]; f.claims[d] > f.heard[1-d].octets() && k.end == k.pos {
			p.launch(f.until, f.until.Add(p.delay(f.until)), &k.d, k.end, k.ack)
		}
		f.kept[d] = nil
	}
}

// gone reports whether what an end sends now has left already: the captured end had sent it a little before they were let go.
func (f *follower) gone(now wheel.Time, p *path, pos, end int64, try int) bool {
	return now.Sub(f.until) <= asGood && p.way.left(pos, end, try, f.until) && now.Sub(p.way.try(pos, try).Sent) <= asGood
}
