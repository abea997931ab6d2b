package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// timeWaitTest has a server that closed first and is in TIME-WAIT at 1 s. The client's next
// sequence number is clientNxt and its last timestamp is 1002.
type timeWaitTest struct {
	e         *Engine
	l         *Listener
	s         *Socket
	clientNxt Seq
}

func newTimeWaitTest(t *testing.T, timestamps bool, change func(*EngineConfig)) *timeWaitTest {
	t.Helper()
	e := newTestEngine(t, func(c *EngineConfig) {
		c.Conn.Timestamps = timestamps
		if change != nil {
			change(c)
		}
	})
	w := &timeWaitTest{e: e, l: engineListen(t, e, ListenConfig{Backlog: 4})}
	w.s, _ = w.close(t, 40000)
	return w
}

// close opens a connection from a client port and closes it, the server first.
func (w *timeWaitTest) close(t *testing.T, port uint16) (*Socket, Seq) {
	t.Helper()
	s, nxt, rcv := engineHandshake(t, w.e, wheel.Time(time.Second), port, 1000)
	w.l.Accept()
	w.e.Close(w.e.now, s, NoLinger)
	w.e.Reset()
	fin := engineSegment(FIN|ACK, nxt, rcv+1, 0)
	fin.Src = s.Remote()
	fin.Header.Options = Options{HasTimestamps: true, TSVal: 1002}
	w.e.Input(w.e.now, fin)
	w.clientNxt = nxt + 1
	return s, nxt + 1
}

func TestTimeWaitSYN(t *testing.T) {
	// RFC 6191 §2 and RFC 9293 §3.6.1: a SYN that must belong to a new incarnation opens it.
	for _, test := range []struct {
		name       string
		timestamps bool
		tsVal      uint32 // 0 is none
		seq        int32  // offset from the client's SND.NXT
		reopens    bool
	}{
		{"later timestamp", true, 1003, 10, true},
		{"later timestamp, lower number", true, 1003, -100, true},
		{"the same timestamp, higher number", true, 1002, 1, true},
		{"the same timestamp, the same number", true, 1002, 0, false},
		{"the same timestamp, lower number", true, 1002, -1, false},
		{"earlier timestamp, higher number", true, 1001, 10, false},
		{"no timestamp any more, higher number", true, 0, 10, true},
		{"no timestamp any more, lower number", true, 0, -10, false},
		{"never a timestamp, higher number", false, 0, 10, true},
		{"never a timestamp, lower number", false, 0, -10, false},
		{"a timestamp for the first time, higher number", false, 5, 10, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newTimeWaitTest(t, test.timestamps, nil)
			if got := w.s.Conn().State(); got != StateTimeWait {
				t.Fatalf("in %v, want TIME-WAIT", got)
			}
			oldNxt := w.s.conn.snd.nxt
			w.e.Reset()
			syn := engineSYN(40000, w.clientNxt+Seq(test.seq))
			syn.Header.Options.HasTimestamps, syn.Header.Options.TSVal = test.tsVal != 0, test.tsVal
			s, _ := w.e.Input(w.e.now.Add(time.Millisecond), syn)
			if reopened := s != w.s; reopened != test.reopens {
				t.Fatalf("a new incarnation: %v, want %v; answered by %q", reopened, test.reopens, engineTexts(w.e))
			}
			engineCheck(t, w.e)
			if !test.reopens {
				if w.s.Conn().State() != StateTimeWait {
					t.Errorf("in %v, want TIME-WAIT still", w.s.Conn().State())
				}
				return
			}
			if w.s.Conn().State() != StateClosed || w.s.Conn().Err() != nil || w.e.Counters().TWRecycled != 1 {
				t.Errorf("the old one is in %v with %v, TWRecycled %d", w.s.Conn().State(), w.s.Conn().Err(), w.e.Counters().TWRecycled)
			}
			p := w.e.Packets()
			if len(p) != 1 || !p[0].Header.Flags.Has(SYN|ACK) || !p[0].Header.Seq.After(oldNxt) {
				t.Errorf("answered by %q, want a SYN-ACK beyond %d", engineTexts(w.e), oldNxt)
			}
		})
	}
}

func TestTimeWaitSYNWithoutListener(t *testing.T) {
	w := newTimeWaitTest(t, true, nil)
	w.l.Close(w.e.now)
	w.e.Reset()
	syn := engineSYN(40000, w.clientNxt+10)
	syn.Header.Options.TSVal = 2000
	if s, _ := w.e.Input(w.e.now, syn); s != w.s || w.s.Conn().State() != StateTimeWait {
		t.Errorf("in %v, want TIME-WAIT still without a listener", w.s.Conn().State())
	}
}

func TestTimeWaitOverflow(t *testing.T) {
	w := newTimeWaitTest(t, true, func(c *EngineConfig) { c.MaxTimeWait = 2 })
	second, _ := w.close(t, 40001)
	third, _ := w.close(t, 40002)
	if w.s.Conn().State() != StateTimeWait || second.Conn().State() != StateTimeWait {
		t.Errorf("%v and %v, want the first two in TIME-WAIT", w.s.Conn().State(), second.Conn().State())
	}
	if third.Conn().State() != StateClosed || third.Conn().Err() != nil || w.e.Counters().TCPTimeWaitOverflow != 1 {
		t.Errorf("the third in %v with %v, TCPTimeWaitOverflow %d, want CLOSED, nil, 1",
			third.Conn().State(), third.Conn().Err(), w.e.Counters().TCPTimeWaitOverflow)
	}
	if p := w.e.Packets(); len(p) == 0 || !p[len(p)-1].Header.Flags.Has(ACK) {
		t.Errorf("sent %q, want the ACK of the FIN", engineTexts(w.e))
	}
	engineCheck(t, w.e)
	w.e.Advance(w.e.now.Add(10 * time.Minute))
	if w.e.socketCount() != 0 || w.e.timeWait != 0 || w.e.Counters().TW != 2 {
		t.Errorf("%d connections are left, TW %d, want 0 and 2", w.e.socketCount(), w.e.Counters().TW)
	}
}

func TestTimeWaitDial(t *testing.T) {
	for _, timestamps := range []bool{true, false} {
		p := newEnginePair(t, func(c *EngineConfig) { c.Conn.Timestamps = timestamps }, nil)
		l := engineListen(t, p.server(), ListenConfig{Backlog: 4})
		client, server := p.connect(l)
		p.client().Close(p.now, client, NoLinger)
		p.run(p.now.Add(100 * time.Millisecond))
		p.server().Close(p.now, server, NoLinger)
		p.run(p.now.Add(100 * time.Millisecond))
		if got := client.Conn().State(); got != StateTimeWait {
			t.Fatalf("in %v, want TIME-WAIT", got)
		}
		old := client.conn.snd.nxt
		dial := func() (*Socket, error) { return p.client().Dial(p.now, client.Local(), engineServer, nil) }
		if _, err := dial(); err == nil {
			t.Error("dialled within the second")
		}
		p.run(p.now.Add(2 * time.Second))
		again, err := dial()
		if !timestamps {
			if err == nil {
				t.Error("dialled without timestamps")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if client.Conn().State() != StateClosed || !again.conn.snd.iss.After(old) || p.client().Counters().TWRecycled != 1 {
			t.Errorf("the old one is in %v, ISN %d, want CLOSED and one after %d", client.Conn().State(), again.conn.snd.iss, old)
		}
		p.run(p.now.Add(time.Second))
		if got := again.Conn().State(); got != StateEstablished {
			t.Errorf("the new one is in %v, want ESTABLISHED", got)
		}
	}
}

func TestNextIncarnationISN(t *testing.T) {
	// RFC 9293 §3.6.1: a sequence number "larger than the largest sequence number it used on the
	// previous connection incarnation", even if the ISN clock has not reached it.
	if got := ISSAfter(4_000_000, 5_000_000); !got.After(5_000_000) {
		t.Errorf("ISSAfter(4000000, 5000000) = %d, want more than 5000000", got)
	}
	if got := ISSAfter(6_000_000, 5_000_000); got != 6_000_000 {
		t.Errorf("ISSAfter(6000000, 5000000) = %d, want 6000000", got)
	}
}
