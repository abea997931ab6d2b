package tcp

import (
	"io"
	"net/netip"
	"strconv"
	"time"

	"tcpwheel/wheel"
)

// JSONTracer writes events as JSON, one object per line. Equal runs write equal bytes.
//
//	t, conn, event                      always: ns since the epoch, Socket.ID (0 is none), TraceKind
//	local, remote                       connection_opened, and segments of no connection
//	flags, seq, ack, win, len           segment_*: flags as tcpdump writes them, unscaled window
//	urg, mss, wscale, sack_permitted, ts_val, ts_ecr, user_timeout_ns, sack, ce, ect,
//	retransmissions, timer              segment_*: if present; timer is the one that caused it
//	timer, seq, armed, deadline, late_ns  timer_*: seq if it is a segment's; late_ns if it expired
//	state, ca_state, cwnd, ssthresh, snd_wnd, snd_una, snd_nxt, rcv_nxt, rto_ns, srtt_ns, rttvar_ns
//	                                    vars_updated: only changed ones
//	error                               connection_closed, if it ended before its time
//
// Sizes are bytes, and t, armed and deadline are ns since the epoch. Sequence numbers are those on
// the wire. An ssthresh of 4294967295 is none. Lines are buffered: call Flush at the end.
type JSONTracer struct {
	w   io.Writer
	buf []byte
	err error
}

// jsonBuffer is the size at which JSONTracer writes its buffer, bytes.
const jsonBuffer = 32 << 10

// NewJSONTracer returns a tracer that writes to w.
func NewJSONTracer(w io.Writer) *JSONTracer { return &JSONTracer{w: w} }

// Flush writes the buffer, and returns the first error of w. After an error nothing more is
// written.
func (t *JSONTracer) Flush() error {
	if t.err == nil && len(t.buf) > 0 {
		_, t.err = t.w.Write(t.buf)
	}
	t.buf = t.buf[:0]
	return t.err
}

// Trace writes a line. It allocates only to grow the buffer.
func (t *JSONTracer) Trace(ev *TraceEvent) {
	t.buf = ev.appendJSON(t.buf)
	t.buf = append(t.buf, '\n')
	if len(t.buf) >= jsonBuffer {
		_ = t.Flush() // Flush keeps the error
	}
}

// appendJSON appends the event as an object, as documented at JSONTracer.
func (ev *TraceEvent) appendJSON(b []byte) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, int64(ev.T), 10)
	b = appendUint(b, "conn", ev.Conn)
	b = appendString(b, "event", ev.Kind.String())
	if ev.Local.IsValid() {
		b = appendEnd(b, "local", ev.Local)
		b = appendEnd(b, "remote", ev.Remote)
	}
	switch ev.Kind {
	case TraceReceived, TraceSent:
		b = ev.appendSegment(b)
	case TraceArmed, TraceStopped, TraceExpired:
		b = ev.appendTimer(b)
	case TraceUpdated:
		b = ev.appendVars(b)
	case TraceClosed:
		if ev.Err != nil {
			b = appendString(b, "error", ev.Err.Error())
		}
	}
	return append(b, '}')
}

func (ev *TraceEvent) appendSegment(b []byte) []byte {
	h, opt := &ev.Header, &ev.Header.Options
	b = appendKey(b, "flags")
	b = append(b, '"')
	if h.Flags == 0 {
		b = append(b, "none"...)
	}
	for i := range len(flagLetters) { // as Flags.String, which allocates
		if h.Flags&(1<<i) != 0 {
			b = append(b, flagLetters[i])
		}
	}
	b = append(b, '"')
	b = appendUint(b, "seq", uint64(h.Seq))
	if h.Flags.Has(ACK) {
		b = appendUint(b, "ack", uint64(h.Ack))
	}
	b = appendUint(b, "win", uint64(h.Window))
	b = appendUint(b, "len", uint64(ev.Len))
	if h.Flags.Has(URG) {
		b = appendUint(b, "urg", uint64(h.Urgent))
	}
	if opt.HasMSS {
		b = appendUint(b, "mss", uint64(opt.MSS))
	}
	if opt.HasWScale {
		b = appendUint(b, "wscale", uint64(opt.WScale))
	}
	b = appendTrue(b, "sack_permitted", opt.SACKPermitted)
	if opt.HasTimestamps {
		b = appendUint(b, "ts_val", uint64(opt.TSVal))
		b = appendUint(b, "ts_ecr", uint64(opt.TSEcr))
	}
	if opt.HasUserTimeout {
		b = appendInt(b, "user_timeout_ns", int64(opt.UserTimeout))
	}
	if opt.NumSACK > 0 {
		b = appendKey(b, "sack")
		for i, r := range opt.SACK[:opt.NumSACK] {
			b = append(b, "[,"[min(i, 1)], '[')
			b = strconv.AppendUint(b, uint64(r.Start), 10)
			b = append(b, ',')
			b = strconv.AppendUint(b, uint64(r.End), 10)
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	b = appendTrue(b, "ce", ev.CE)
	b = appendTrue(b, "ect", ev.ECT)
	if ev.Rexmit > 0 {
		b = appendUint(b, "retransmissions", uint64(ev.Rexmit))
	}
	if ev.Timed {
		b = appendString(b, "timer", ev.Timer.String())
	}
	return b
}

func (ev *TraceEvent) appendTimer(b []byte) []byte {
	b = appendString(b, "timer", ev.Timer.String())
	if ev.Slot.segment() != 0 {
		b = appendUint(b, "seq", uint64(ev.Seq))
	}
	b = appendTime(b, "armed", ev.Armed)
	b = appendTime(b, "deadline", ev.Deadline)
	if ev.Kind == TraceExpired {
		b = appendInt(b, "late_ns", int64(ev.late()))
	}
	return b
}

func (ev *TraceEvent) appendVars(b []byte) []byte {
	v := &ev.Vars
	if ev.Changed&TraceState != 0 {
		b = appendString(b, "state", v.State.String())
	}
	if ev.Changed&TraceCAState != 0 {
		b = appendString(b, "ca_state", v.CAState.String())
	}
	for _, n := range [...]struct {
		bit   TraceMask
		name  string
		value uint32
	}{
		{TraceCwnd, "cwnd", v.Cwnd},
		{TraceSsthresh, "ssthresh", v.Ssthresh},
		{TraceSndWnd, "snd_wnd", v.SndWnd},
		{TraceSndUna, "snd_una", uint32(v.SndUna)},
		{TraceSndNxt, "snd_nxt", uint32(v.SndNxt)},
		{TraceRcvNxt, "rcv_nxt", uint32(v.RcvNxt)},
	} {
		if ev.Changed&n.bit != 0 {
			b = appendUint(b, n.name, uint64(n.value))
		}
	}
	for _, d := range [...]struct {
		bit   TraceMask
		name  string
		value time.Duration
	}{
		{TraceRTO, "rto_ns", v.RTO},
		{TraceSRTT, "srtt_ns", v.SRTT},
		{TraceRTTVar, "rttvar_ns", v.RTTVar},
	} {
		if ev.Changed&d.bit != 0 {
			b = appendInt(b, d.name, int64(d.value))
		}
	}
	return b
}

// The names and texts written need no escapes.

func appendKey(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func appendString(b []byte, key, v string) []byte {
	b = append(appendKey(b, key), '"')
	b = append(b, v...)
	return append(b, '"')
}

func appendUint(b []byte, key string, v uint64) []byte {
	return strconv.AppendUint(appendKey(b, key), v, 10)
}

func appendInt(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(appendKey(b, key), v, 10)
}

func appendTime(b []byte, key string, v wheel.Time) []byte { return appendInt(b, key, int64(v)) }

func appendTrue(b []byte, key string, v bool) []byte {
	if !v {
		return b
	}
	return append(appendKey(b, key), "true"...)
}

// appendEnd omits a zone, the only part that could need escapes.
func appendEnd(b []byte, key string, v netip.AddrPort) []byte {
	b = append(appendKey(b, key), '"')
	b = netip.AddrPortFrom(v.Addr().WithZone(""), v.Port()).AppendTo(b)
	return append(b, '"')
}
