package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestTransferAcrossSequenceWrap sends more than 2^32 bytes with occasional losses, so each
// recorded sequence number is compared with all others.
func TestTransferAcrossSequenceWrap(t *testing.T) {
	const total, part = 5 << 30, 1 << 24 // a little more than 2^32
	for i, profile := range tcptimers.Names() {
		for _, sack := range []bool{true, false} {
			if sack != (i == 0) && scaled(0, 1) == 0 || i > 1 && scaled(0, 1) == 0 {
				continue // by default two of the combinations
			}
			policy, err := tcptimers.NewPolicy(profile)
			if err != nil {
				t.Fatal(err)
			}
			p := newEnginePair(t, nil, nil)
			for i := range p.engines {
				p.engines[i] = newTestEngine(t, func(c *EngineConfig) {
					c.Conn = DefaultConfig(policy)
					c.Conn.SACK = sack
					c.MTU = 1 << 16
					c.Conn.RecvBuffer, c.Conn.RecvBufferMax = 16<<20, 16<<20
				})
			}
			p.quiet, p.checked, p.delay = true, false, time.Millisecond
			lost := 0
			p.lose = func(n int, q *Packet) bool {
				if q.Len == 0 || (q.Rexmit > 0 || q.Header.Seq%7919 != 0) && n%4999 != 0 {
					return false
				}
				lost++
				return true
			}
			l := engineListen(t, p.server(), ListenConfig{Backlog: 1})
			client, server := p.connect(l)
			for sent := uint64(0); sent < total; sent += part {
				p.client().Wrote(p.now, client, part, 0)
				for range 600 {
					if client.Conn().Acked() == sent+part {
						break
					}
					p.run(p.now.Add(100 * time.Millisecond))
				}
				if err := client.Conn().Check(); err != nil {
					t.Fatalf("%s, SACK %v, after %d bytes: %v", profile, sack, sent, err)
				}
				if got, want := server.Conn().Received(), sent+part; got != want || client.Conn().Acked() != want {
					t.Fatalf("%s, SACK %v: %d bytes received, %d acknowledged, want %d; %v, SND.UNA %d after ISS", profile, sack,
						got, client.Conn().Acked(), want, client.Conn().State(), client.conn.snd.una-client.conn.snd.iss)
				}
			}
			c := p.client().Counters()
			t.Logf("%s, SACK %v: %d losses, %d segments retransmitted, %d timeouts", profile, sack, lost, c.RetransSegs, c.TCPTimeouts)
			if most := uint64(lost) * 20; c.RetransSegs > most || c.TCPTimeouts > uint64(lost) {
				t.Errorf("%s, SACK %v: %d segments retransmitted, %d timeouts for %d losses", profile, sack, c.RetransSegs, c.TCPTimeouts, lost)
			}
			if c.TCPSACKDiscard != 0 {
				t.Errorf("%s: %d invalid SACK blocks", profile, c.TCPSACKDiscard)
			}
			if testing.Short() {
				return
			}
		}
	}
}
