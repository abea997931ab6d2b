package testbed

import (
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

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
