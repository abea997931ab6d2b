package testbed

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// Result is the result of a Spec. Times in JSON are seconds.
type Result struct {
	// Times is the duration of each object after the warmup, by flow and then in order. It begins when
	// the object is written (Bulk, Tail, Stream, StopAndWait) or requested (Answers), or its connection
	// dialled (Web), and ends when its last byte arrives, or is acknowledged (StopAndWait). An object
	// unfinished at the limit has its age, which is less than its duration.
	Times      []time.Duration `json:"times_s"`
	Unfinished int             `json:"unfinished,omitempty"`

	Bytes uint64        `json:"bytes"`  // of complete objects, warmup included
	Span  time.Duration `json:"span_s"` // from the first start to the last end

	// Data segments, of all flows and objects.
	Sent          int `json:"sent"`
	Lost          int `json:"lost"`
	Retransmitted int `json:"retransmitted"`
	Spurious      int `json:"spurious"` // an earlier transmission of the same bytes was not lost

	// Waits is the times from a lost transmission to the next one of the same bytes; at most 500 of
	// them, evenly picked. Repaired is their number, and WaitSum their sum, before picking.
	Waits    []time.Duration `json:"waits_s,omitempty"`
	Repaired int             `json:"repaired"`
	WaitSum  time.Duration   `json:"wait_sum_s"`

	// Reported by the sender. GVisor counts no probes: its probes are the retransmissions without
	// another cause.
	Timeouts uint64 `json:"timeouts"`
	Probes   uint64 `json:"probes"`

	Wheel *Wheel `json:"wheel,omitempty"` // of the sender, Engine only
}

// Wheel is the operations on a sender's timing wheel.
type Wheel struct {
	Starts   uint64 `json:"starts"`
	Stops    uint64 `json:"stops"`
	Expiries uint64 `json:"expiries"`
	Visits   uint64 `json:"visits"` // of timer records, by all routines
	Wakeups  uint64 `json:"wakeups"`
}

// Goodput returns the bit/s of complete objects, 0 if there are none.
func (r *Result) Goodput() float64 {
	if r.Span <= 0 {
		return 0
	}
	return 8 * float64(r.Bytes) / r.Span.Seconds()
}

// Run runs a Spec. It costs about 5 µs for each segment of Engine, and ten times that for others.
// An error is that of Check or of the context, or a fault of the subject.
func Run(ctx context.Context, s *Spec) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Kind == Engine {
		return runEngine(ctx, s)
	}
	return runStacks(ctx, s)
}

// fault adds the subject to an error.
func (s *Spec) fault(err error) error { return fmt.Errorf("subject %s: %w", s.Kind, err) }

// object is an object of a flow.
type object struct {
	start, end    wheel.Time
	started, done bool
}

// flow is the state of a flow, with any subject.
type flow struct {
	run     *run
	index   int
	objects []object
	conn    atomic.Int32 // the current connection
	arrived int          // objects complete
}

// run is a running Spec, with any subject.
type run struct {
	spec  *Spec
	flows []*flow
	sent  transmissions
	left  int // flows with objects left
}

func newRun(s *Spec) *run {
	r := &run{spec: s, left: s.Flows, sent: newTransmissions()}
	for i := range s.Flows {
		r.flows = append(r.flows, &flow{run: r, index: i, objects: make([]object, s.objects())})
	}
	return r
}

// begins returns when the flow begins. It depends on the seed, and is the same for all subjects.
func (f *flow) begins() wheel.Time {
	s := f.run.spec
	return wheel.Time(Uniform(s.Seed, 0xbe91, uint64(f.index)) * float64(s.Stagger))
}

// pause returns the time from the end of the object before to the start of this one.
func (f *flow) pause(object int) time.Duration {
	s := f.run.spec
	share := Uniform(s.Seed, 0x9a5e, uint64(f.index), uint64(object))
	return s.Work.Think/2 + time.Duration(share*float64(s.Work.Think))
}

// start notes that an object is requested or sent.
func (f *flow) start(object int, now wheel.Time) {
	if o := &f.objects[object]; !o.started {
		o.start, o.started = now, true
	}
}

// end notes that the current object is complete, and reports whether there is another one.
func (f *flow) end(now wheel.Time) (more bool) {
	o := &f.objects[f.arrived]
	o.end, o.done = now, true
	f.arrived++
	if f.arrived == len(f.objects) {
		f.run.left--
		return false
	}
	return true
}

// result returns the Result of a run that ends now.
func (r *run) result(now wheel.Time) Result {
	s := r.spec
	res := Result{}
	var first, last wheel.Time
	begun := false
	for _, f := range r.flows {
		for i, o := range f.objects {
			if o.started && (!begun || o.start < first) {
				first, begun = o.start, true
			}
			if o.done {
				last = max(last, o.end)
				res.Bytes += s.Work.Bytes
			}
			if i < s.Work.Warm {
				continue
			}
			switch {
			case o.done:
				res.Times = append(res.Times, o.end.Sub(o.start))
			case o.started:
				res.Times = append(res.Times, now.Sub(o.start))
				res.Unfinished++
			default:
				// An object that never started waits for those before it, from the begin of the flow.
				res.Times = append(res.Times, now.Sub(f.begins()))
				res.Unfinished++
			}
		}
	}
	if res.Bytes > 0 {
		res.Span = last.Sub(first)
	}
	r.sent.count(&res)
	return res
}

// surroundings are what the receiver of a flow needs of a run.
type surroundings interface {
	dial(port uint16) (net.Conn, error)
	pause(d time.Duration) (more bool) // false: the run is over
	start(f *flow, object int)
	end(f *flow)
	push(f *flow, object int) // the sender writes an object
	reading(c net.Conn)       // the receiver is about to read
}

// receive is the program of a flow's receiver. An error is that of a connection.
func (r *run) receive(f *flow, in surroundings) error {
	s := r.spec
	buf, request := make([]byte, 64<<10), make([]byte, s.request())
	var c net.Conn
	for object := range f.objects {
		if object > 0 && s.Work.Shape != Stream && !in.pause(f.pause(object)) {
			return nil
		}
		if c == nil || s.Work.Shape == Web {
			if s.Work.Shape == Web {
				f.conn.Store(int32(object))
				in.start(f, object)
			}
			var err error
			if c, err = in.dial(s.port(f.index, int(f.conn.Load()))); err != nil {
				return err
			}
		}
		in.reading(c)
		switch s.Work.Shape {
		case Answers, Web:
			in.start(f, object)
			if _, err := c.Write(request); err != nil {
				return err
			}
		case Tail:
			if object > 0 {
				in.push(f, object)
			}
		}
		for left := s.Work.Bytes; left > 0; {
			n, err := c.Read(buf[:min(left, uint64(len(buf)))])
			if err != nil {
				return err
			}
			left -= uint64(n)
			in.reading(c)
		}
		in.end(f)
		if s.Work.Shape == Web {
			_ = c.Close()
		}
	}
	return nil
}

// duplex is a connection whose directions close separately.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// answer is the sender's program of a connection with requests. It ignores errors: the receiver
// meets them too.
func (s *Spec) answer(c duplex) {
	request := make([]byte, s.request())
	for {
		if _, err := io.ReadFull(c, request); err != nil || s.write(c) != nil {
			return
		}
		if s.Work.Shape == Web {
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
			return
		}
	}
}

// writeStream writes the objects of a Stream. It ends with the connection.
func (s *Spec) writeStream(c io.Writer, f *flow, in surroundings) {
	for object := range f.objects {
		if object > 0 && !in.pause(f.pause(object)) {
			return
		}
		in.start(f, object)
		if s.write(c) != nil {
			return
		}
	}
}

// write writes an object.
func (s *Spec) write(c io.Writer) error {
	b := make([]byte, min(s.Work.Bytes, 1<<20))
	for left := s.Work.Bytes; left > 0; {
		n, err := c.Write(b[:min(left, uint64(len(b)))])
		if err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}
