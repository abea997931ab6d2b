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
