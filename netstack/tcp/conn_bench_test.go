package tcp

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// BenchmarkTransfer measures the cost of a data segment for both engines, including ACKs and
// timers, without a network. Windows have 64 segments. rexmit=single is the same policy with one
// retransmission timer.
func BenchmarkTransfer(b *testing.B) {
	for _, mode := range []struct {
		name   string
		rexmit tcptimers.RexmitMode
	}{{"per-segment", tcptimers.RexmitPerSegment}, {"single", tcptimers.RexmitRestart}} {
		b.Run("rexmit="+mode.name, func(b *testing.B) {
			p := tcptimers.MustPolicy("per-segment")
			p.Rexmit = mode.rexmit
			cfg := DefaultConfig(p)
			cfg.RecvBufferMax, cfg.RecvBuffer = 0, 64*1448
			var e [2]*Engine
			for i := range e {
				var err error
				if e[i], err = NewEngine(0, EngineConfig{Conn: cfg, Key: [16]byte{byte(i)}}); err != nil {
					b.Fatal(err)
				}
			}
			client, server := netip.MustParseAddrPort("10.0.0.1:40000"), netip.MustParseAddrPort("10.0.0.2:80")
			if _, err := e[1].Listen(server, ListenConfig{Backlog: 1}); err != nil {
				b.Fatal(err)
			}
			s, err := e[0].Dial(0, client, server, nil)
			if err != nil {
				b.Fatal(err)
			}
			now := wheel.Time(0)
			data, read := 0, uint32(0)
			var wire [2][]Packet
			flush := func(i int) {
				wire[i] = append(wire[i], e[i].Packets()...)
				e[i].Reset()
			}
			round := func() {
				now = now.Add(time.Millisecond)
				for i := range e {
					e[i].Advance(now)
					flush(i)
				}
				for i := range e {
					in := wire[i]
					for k := range in {
						to, v := e[1-i].Input(now, &in[k])
						flush(1 - i)
						if in[k].Len > 0 {
							data++
							read += v.InOrder
						}
						if read >= 32*1448 {
							e[1].Consumed(now, to, read)
							flush(1)
							read = 0
						}
					}
					wire[i] = wire[i][:0]
				}
			}
			flush(0)
			for range 10 {
				round()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; data < b.N; i++ {
				if s.Conn().snd.queued() < 1<<20 {
					e[0].Wrote(now, s, 1<<20, 0)
					flush(0)
				}
				round()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(data), "ns/segment")
		})
	}
}

// BenchmarkBulk measures the cost of a data segment for the sender of a bulk flow, with its timers
// and one ACK per 44 segments.
func BenchmarkBulk(b *testing.B) {
	for _, train := range []uint32{0, 65000} {
		b.Run(fmt.Sprintf("train=%d", train), func(b *testing.B) {
			const segments, mss = 44, 1448
			s := newBulkSender(b, train)
			for range 100 { // lets the window grow
				s.round(b, segments*mss)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += segments {
				s.round(b, segments*mss)
			}
		})
	}
}

// bulkSender is a connection whose peer sends ACKs only.
type bulkSender struct {
	conn Conn
	out  Output
	now  wheel.Time
	peer Header // of the next data
}

func newBulkSender(t testing.TB, train uint32) *bulkSender {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	s := &bulkSender{peer: Header{Seq: 1000, Window: 65535}}
	s.out.MaxBurst, s.out.noBursts = train, train == 0
	s.conn.Init(&cfg, Path{MTU: 1500}, 0, 0)
	s.conn.Connect(s.now, &s.out)
	s.peer.Flags, s.peer.Ack = SYN|ACK, s.conn.snd.nxt
	s.peer.Options = Options{HasMSS: true, MSS: 1460, SACKPermitted: true, HasWScale: true, WScale: 10, HasTimestamps: true, TSVal: 1}
	s.input()
	s.peer.Flags, s.peer.Options = ACK, Options{HasTimestamps: true, TSVal: 1}
	s.peer.Seq++
	if s.conn.State() != StateEstablished {
		t.Fatalf("state %v, want ESTABLISHED", s.conn.State())
	}
	return s
}

func (s *bulkSender) input() {
	s.now = s.now.Add(20 * time.Microsecond)
	s.peer.Options.TSEcr = s.conn.snd.timestamp(s.now)
	s.conn.Input(s.now, &Inbound{Header: &s.peer}, &s.out)
	s.out.Reset()
}

// round writes n bytes, and acknowledges those of the previous round.
func (s *bulkSender) round(t testing.TB, n uint32) {
	before := s.conn.snd.nxt
	s.now = s.now.Add(20 * time.Microsecond)
	s.conn.Wrote(s.now, n, WriteMore, &s.out)
	s.out.Reset()
	s.peer.Ack = before
	s.input()
}
