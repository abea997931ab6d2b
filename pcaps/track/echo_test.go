package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestSenderEchoesDataOnly captures behind a sender from before RFC 7323 §4.3, which echoes no
// timestamp of a bare ACK. Its retransmission after three duplicate ACKs is fast.
func TestSenderEchoesDataOnly(t *testing.T) {
	l := newLab(t, Config{})
	handshake := func(p *packet) { p.Header.Options.HasMSS, p.Header.Options.MSS = true, 1012 }
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), handshake, withStamps(1000, 0))
	l.send(50, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), handshake, withStamps(7000, 1000))
	l.send(55, true, 1, 0, 1, withStamps(1055, 7000))
	const packets, every = 40, 55
	for i := range packets {
		at := 100 + every*float64(i)
		l.send(at, true, 1+1000*i, 1000, 1, withStamps(1000+uint32(at), 7000))
		l.send(at+50, false, 1, 0, 1001+1000*i, withStamps(7000+uint32(at), 1000+uint32(at)))
	}
	lost, at := 1+1000*packets, 100+every*float64(packets)
	for i := range 4 {
		l.send(at+float64(i), true, lost+1000*i, 1000, 1, withStamps(1000+uint32(at), 7000))
	}
	for i := range 3 {
		l.send(at+51+float64(i), false, 1, 0, lost, withStamps(7000+uint32(at)+50, 1000+uint32(at)-every))
	}
	l.send(at+58.5, true, lost, 1000, 1, withStamps(1000+uint32(at)+58, 7000))
	l.send(at+108.5, false, 1, 0, lost+4000, withStamps(7000+uint32(at)+108, 1000+uint32(at)+58))
	if e := l.only(); e.Kind != Fast || e.Spurious != Necessary {
		t.Errorf("%v, spurious %v, want fast, no", e.Kind, e.Spurious)
	}
}

// TestPausedClockOfTimestamps captures near a phone whose timestamp clock stood still for 300 ms,
// as if what it sends later had waited in a queue for so long. But each packet echoes a timestamp
// that passed just before it: it cannot have left before that.
func TestPausedClockOfTimestamps(t *testing.T) {
	l := newLab(t, Config{Facts: 1000, FactsTotal: 1000})
	handshake := func(p *packet) { p.Header.Options.HasMSS, p.Header.Options.MSS = true, 1012 }
	l.send(0, true, 0, 0, 0, withFlags(tcp.SYN), handshake, withStamps(1000, 0))
	l.send(38, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK), handshake, withStamps(5000, 1000))
	l.send(40, true, 1, 0, 1, withStamps(1040, 5000))
	const packets = 60
	stamp := func(at float64) uint32 { // of the phone
		if at > 1000 {
			at -= 300
		}
		return 1000 + uint32(at)
	}
	heard := uint32(5000)
	for i := range packets {
		at := 100 + 40*float64(i)
		l.send(at, true, 1+1000*i, 1000, 1, withStamps(stamp(at), heard))
		heard = 5000 + uint32(at) + 38
		l.send(at+38, false, 1, 0, 1001+1000*i, withStamps(heard, stamp(at)))
	}
	paused := false
	facts := l.done(1)[0].Facts
	for _, x := range facts.All() {
		paused = paused || x.Flow == 0 && x.TSVal > 1700
		if waited := x.Seen.Sub(x.Sent).Milliseconds(); x.Flow == 0 && waited > 2 {
			t.Errorf("packet %d waited for %d ms, but echoes a timestamp of 2 ms before", x.Number, waited)
		}
	}
	if !paused {
		t.Error("no packet after the pause")
	}
}
