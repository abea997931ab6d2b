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
