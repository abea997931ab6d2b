package wheels

import (
	"fmt"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// fig9Plan is the plan of the study.
type fig9Plan struct {
	Iterations  int   `plan:"iterations" min:"10" max:"10000000"`
	Outstanding []int `plan:"outstanding" min:"0" max:"100000" order:"rising"`
	Beyond      []int `plan:"beyond" min:"1000" max:"100000000" optional:"true" order:"rising"`
	Rounds      int   `plan:"rounds" min:"3" max:"1000"`
}

// fig9Cell is what was counted in one kernel beside n timers.
type fig9Cell struct {
	Kernel string `json:"kernel"`
	N      int    `json:"n"`
	Start  uint64 `json:"start"` // records that START looked at, in all iterations
	Stop   uint64 `json:"stop"`  // and STOP
	Moves  uint64 `json:"moves"` // records that were put in another place
}

// Fig9 is the study.
var Fig9 = experiments.Define(experiments.Spec[fig9Plan, fig9Cell]{
	ID: "E2", Name: "fig9", Class: experiments.Exact, Folder: "wheels/fig9", Files: files,
	Question: "What does it cost to set and cancel a timer beside n others?",
	Check: func(p *fig9Plan) error {
		n := len(p.Outstanding)
		if n < 2 {
			return fmt.Errorf("outstanding: %v, want two at least", p.Outstanding)
		}
		if len(p.Beyond) > 0 && p.Beyond[0] <= p.Outstanding[n-1] {
			return fmt.Errorf("beyond: %v, want more than those outstanding, %d", p.Beyond, p.Outstanding[n-1])
		}
		return nil
	},
	Cells: fig9Cells,
	Judge: fig9Judge,
	Live:  []experiments.LivePart[fig9Plan]{{Name: "clock", Run: fig9Clock}},
})

// fig9Kernel is one way to set and cancel timers.
type fig9Kernel struct {
	name, about string
	scheme      string
	lookup      bool // by func and arg, else by handle
	linear      int  // records passed per iteration and timer outstanding; 0 is none
}

var fig9Kernels = []fig9Kernel{
	{"callout", "4.4BSD's callout list, func and arg", "callout", true, 2},
	{"wheel-lookup", "Scheme 6, func and arg through a hash table", "scheme6-list", true, 0},
	{"wheel-handle", "Scheme 6, handle", "scheme6-list", false, 0},
	{"packed-handle", "Scheme 6, packed and lazy, handle", "scheme6", false, 0},
	{"hierarchy", "Scheme 7, handle", "scheme7", false, 0},
	{"heap", "Scheme 3, a heap, handle", "scheme3", false, 0},
	{"ordered", "Scheme 2, an ordered list, handle", "scheme2", false, 1},
}

// fig9Bench is a kernel with n timers in place.
type fig9Bench struct {
	f        wheel.Facility
	callouts *wheel.Callouts // nil is by handle
	farther  wheel.Time
	spare    wheel.Timer
	arg      uint64
}

const (
	fig9Retransmit = 1       // the func of all callouts
	fig9Table      = 1000    // callouts for which the hash table has room at least: it is one and the same all over Fig. 9
	fig9Ours       = 1 << 40 // the args of those that are set and cancelled count from here
)

// open puts n timers in place. They are set from the farthest to the nearest, so that an ordered list takes each at its head.
func (k *fig9Kernel) open(n int, count bool) (*fig9Bench, error) {
	f, err := wheel.New(k.scheme, wheel.Config{Count: count})
	if err != nil {
		return nil, err
	}
	b := &fig9Bench{f: f, farther: wheel.Time(n+1) * 1e6}
	if k.lookup {
		b.callouts = wheel.NewCallouts(f)
		b.callouts.Reserve(max(n, fig9Table) + 1)
	} else {
		f.Reserve(n + 1)
	}
	for i := n; i >= 1; i-- {
		at := wheel.Time(i) * 1e6 // a tick each
		if k.lookup {
			b.callouts.Timeout(fig9Retransmit, uint64(i), at)
		} else {
			f.Schedule(f.New(uint64(i)), at)
		}
	}
	if !k.lookup {
		b.spare = f.New(fig9Ours)
	}
	return b, nil
}

// iterate sets and cancels a timer. Its arg is a new one each time, so that its chain of the hash table is one at random.
func (b *fig9Bench) iterate(times int) {
	for range times {
		if b.callouts != nil {
			b.arg++
			b.callouts.Timeout(fig9Retransmit, fig9Ours+b.arg, b.farther)
			b.callouts.Untimeout(fig9Retransmit, fig9Ours+b.arg)
			continue
		}
		b.f.Schedule(b.spare, b.farther)
		b.f.Stop(b.spare)
	}
}
