package tcp

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// fuzzInput hands out the bytes of a fuzz input, then zeros.
type fuzzInput []byte

func (in *fuzzInput) u8() (v byte) {
	if len(*in) > 0 {
		v, *in = (*in)[0], (*in)[1:]
	}
	return v
}

func (in *fuzzInput) u16() uint16 { return uint16(in.u8())<<8 | uint16(in.u8()) }

// offset returns a number of either sign that is often small.
func (in *fuzzInput) offset() uint32 {
	v := in.u8()
	switch n := int8(v); {
	case n > 100:
		return uint32(in.u16())
	case n < -100:
		return -uint32(in.u16())
	case n > 90:
		return uint32(in.u16()) << 16
	case n < -90:
		return -(uint32(in.u16()) << 16)
	default:
		return uint32(int32(n))
	}
}

// FuzzConn drives a live connection by a hostile peer and a careless application: segments with
// numbers near and far, spans of time, calls and ICMP. Nothing panics, the invariants hold after
// each step, no byte outside the window is taken, and the output and memory are bounded.
func FuzzConn(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte("\x07\x01\x00\x10\x01\x05\x10\x00\x00\x20\x40\x10\x00\x30\x02\x00\x10\x18\x00\x00\x00\x00\x40\x05\x00\x00"))
	f.Add([]byte("\xff\x02\x03\x31\x06\x00\x05\x20\x00\x10\x01\x00\x10\x20\x00\x80\x00\x03\x00\x01\x02\x03\x04\x05\x06\x07"))
	for seed := range byte(8) {
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte((i*7+int(seed)*31)*(i+13)>>2) ^ seed
		}
		f.Add(b)
	}
	f.Fuzz(fuzzConn)
}

// TestConnAmongHostiles runs FuzzConn with random bytes, which reach further than its seeds.
func TestConnAmongHostiles(t *testing.T) {
	n := uint64(scaled(1000, 3000))
	if testing.Short() {
		n = 300
	}
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 100+r.IntN(2000))
		for i := range data {
			data[i] = byte(r.Uint32())
			if i > 3 && r.IntN(4) == 0 {
				data[i] = 0 // acceptable numbers are near 0
			}
		}
		fuzzConn(t, data)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func fuzzConn(t *testing.T, data []byte) {
	in := fuzzInput(data)
	h, x := fuzzStart(t, &in)
	for step := 0; len(in) > 0 && step < 400; step++ {
		x = h.fuzzStep(t, x, &in)
		if err := h.e.Check(); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		// At most a window of new segments, as many retransmissions, and replies.
		if most := 3*h.cfg.MaxSegments + 64 + 8; len(h.sent) > most {
			t.Fatalf("step %d: %d segments sent in one call, want %d at most", step, len(h.sent), most)
		}
		h.e.Sockets(func(s *Socket) {
			if n := s.conn.snd.fl.sent.Len(); n > 2*h.cfg.MaxSegments+64 { // a smaller path MTU splits some
				t.Fatalf("step %d: %d segments are kept, want %d at most", step, n, 2*h.cfg.MaxSegments+64)
			}
		})
	}
	// After an abort nothing is left.
	h.e.Sockets(func(s *Socket) { h.e.Abort(h.now, s) })
	h.collect()
	h.advance(time.Hour, 10_000)
	if err := h.e.Check(); err != nil {
		t.Fatalf("at the end: %v", err)
	}
	h.e.Sockets(func(s *Socket) { t.Fatalf("at the end: a connection is left in %v", s.conn.State()) })
}

// fuzzStart makes the connection selected by the first bytes.
func fuzzStart(t *testing.T, in *fuzzInput) (*hostile, *hostileEnd) {
	bits, more := in.u8(), in.u8()
	policy := tcptimers.MustPolicy(tcptimers.PolicyNames()[int(in.u8())%len(tcptimers.PolicyNames())])
	cfg := DefaultConfig(policy)
	cfg.Timestamps, cfg.SACK, cfg.WScale, cfg.ECN = bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
	cfg.Pacing, cfg.Minshall, cfg.AckPush = bits&16 != 0, bits&32 != 0, bits&64 != 0
	cfg.Socket.NoDelay = bits&128 != 0
	cfg.Control = congestion.Names()[int(more&3)%len(congestion.Names())]
	cfg.RecvBuffer = []uint32{1, 100, 5000, 1 << 20}[more>>2&3]
	cfg.RecvBufferMax = 4 * cfg.RecvBuffer
	cfg.MaxOutOfOrder, cfg.MaxSegments = 16, 64
	cfg.VegasCheck = more&16 != 0
	cfg.Reno = cfg.VegasCheck
	h := newHostile(t, cfg, EngineConfig{})
	opts := Options{HasMSS: true, MSS: 536, SACKPermitted: bits&2 != 0, HasWScale: bits&4 != 0, WScale: 3, HasTimestamps: bits&1 != 0, TSVal: 77}
	switch more >> 5 {
	case 0: // a listener, and nothing more
		if _, err := h.e.Listen(hostileLocal, ListenConfig{Backlog: 2}); err != nil {
			t.Fatal(err)
		}
		return h, nil
	case 1: // SYN-SENT
		s, err := h.e.Dial(h.now, hostileLocal, hostileRemote, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.collect()
		return h, h.end(s)
	case 2: // a closed window
		return h, h.connect(t, 0, opts)
	}
	return h, h.connect(t, 20_000, opts)
}

// fuzzStep performs one step, and returns the connection to go on with, or nil.
func (h *hostile) fuzzStep(t *testing.T, x *hostileEnd, in *fuzzInput) *hostileEnd {
	h.sent = h.sent[:0]
	if x == nil || h.ends[x.s] == nil {
		x = h.last
	}
	switch op := in.u8(); {
	case op < 160:
		h.fuzzSegment(x, op, in)
	case op < 190:
		shift := in.u8() % 36 // up to 68 s and more
		h.advance(time.Duration(in.u8())*time.Nanosecond<<shift, 50)
	case op < 245 && x != nil:
		h.fuzzCall(x, in)
	case x != nil:
		h.e.ICMP(h.now, hostileLocal, hostileRemote, ICMPError{
			Kind: ICMPKind(in.u8()) % (ICMPSourceQuench + 1), Seq: x.s.conn.snd.una.Add(in.offset()), MTU: uint32(in.u16()),
		})
		h.collect()
	}
	return h.last
}

// fuzzSegment sends a segment.
func (h *hostile) fuzzSegment(x *hostileEnd, op byte, in *fuzzInput) {
	hd := Header{SrcPort: 4000, DstPort: 80, Flags: ACK, Window: 20_000}
	var seq, ack [4]Seq
	seq[0], seq[1] = hostileISS, hostileISS.Add(1)
	if x != nil {
		seq = [4]Seq{x.ack, x.edge, hostileISS, x.ack}
		ack = [4]Seq{x.nxt, x.s.conn.snd.una, x.iss, x.nxt}
	}
	hd.Seq = seq[op&3].Add(in.offset())
	hd.Ack = ack[op>>2&3].Add(in.offset())
	n := uint32(0)
	if op&16 != 0 {
		n = uint32(in.u16()) % 9000
	}
	if op&32 != 0 {
		hd.Flags = Flags(in.u8())
		hd.Urgent = in.u16()
	}
	if op&64 != 0 {
		hd.Window = in.u16()
	}
	what := in.u8()
	o := &hd.Options
	if what&1 != 0 {
		o.HasTimestamps, o.TSVal = true, 77+in.offset()
		if x != nil {
			o.TSEcr = x.tsval + in.offset()
		}
	}
	if what&2 != 0 {
		o.NumSACK = in.u8() % (MaxSACKBlocks + 1)
		for i := range o.NumSACK {
			o.SACK[i].Start = ack[1].Add(in.offset())
			o.SACK[i].End = o.SACK[i].Start.Add(in.offset())
		}
	}
	if what&4 != 0 {
		b := binary.BigEndian.AppendUint16(nil, in.u16())
		o.HasMSS, o.MSS = true, binary.BigEndian.Uint16(b)
		o.HasWScale, o.WScale = b[0]&1 != 0, b[1]&15
		o.SACKPermitted = b[0]&2 != 0
	}
	if what&8 != 0 {
		o.HasUserTimeout, o.UserTimeout = true, time.Duration(in.u8()+1)*time.Second
	}
	h.input(hd, n)
}

// fuzzCall performs a call of the application.
func (h *hostile) fuzzCall(x *hostileEnd, in *fuzzInput) {
	switch what := in.u8(); what % 8 {
	case 0, 1, 2:
		if x.s.conn.CanWrite() && x.s.conn.snd.queued() < 1<<20 {
			h.e.Wrote(h.now, x.s, uint32(in.u16()), WriteFlags(what>>4&3))
		}
	case 3, 4:
		n := min(x.readable, uint64(in.u16()))
		x.readable -= n
		h.e.Consumed(h.now, x.s, uint32(n))
	case 5:
		if what&16 != 0 {
			h.e.Shutdown(h.now, x.s)
			break
		}
		opts := x.s.conn.Options()
		opts.NoDelay, opts.Cork, opts.QuickAck, opts.Keepalive = what&32 != 0, what&64 != 0, what&128 != 0, what&32 != 0
		opts.KeepIdle, opts.UserTimeout = 5*time.Second, time.Duration(in.u8())*time.Second
		opts.MaxSeg = 0
		if v := in.u16(); v >= MinMSS {
			opts.MaxSeg = v
		}
		h.e.SetOptions(h.now, x.s, opts)
	case 6:
		if what&0x30 == 0 {
			h.e.Close(h.now, x.s, []time.Duration{NoLinger, NoLinger, time.Second, 0}[what>>6])
			x.readable = 0
		}
	case 7:
		if what&0xf0 == 0 {
			h.e.Abort(h.now, x.s)
		}
	}
	h.collect()
}
