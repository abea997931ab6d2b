package granularity

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// The kernel runs in real time, so it does less work.
const (
	kernelSeeds     = 3
	kernelResponses = 40
	kernelAtOnce    = 4
	kernelRTT       = 20 * time.Millisecond
	kernelNear      = 10 // %, by which means may differ and count as near
)

// kernelSetting is a setting that Linux can have, as the sender's settings below net/ipv4 and as
// the text of an engine's timers.
type kernelSetting struct {
	floor    time.Duration
	recovery string
	acks     string // the receiver's
	lossless bool   // a control: what differs there is not recovery
}

var kernelRecoveries = []struct {
	name, engine string
	kernel       map[string]string
}{
	{"duplicate ACKs", "-sack -rack -tlp -frto", map[string]string{"tcp_sack": "0",
		"tcp_early_retrans": "0", "tcp_frto": "0"}},
	{"RACK", "+sack +rack -tlp +frto", map[string]string{"tcp_early_retrans": "0"}},
	{"RACK and TLP", "+sack +rack +tlp +frto", nil},
}

// kernel compares engine, binding and kernel under settings that Linux can have, with the same
// losses. The kernel's tick is its own, and its floor is one on the variation, as the engine's here.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	var all []kernelSetting
	for _, r := range kernelRecoveries {
		for _, floor := range []time.Duration{200 * time.Millisecond, 5 * time.Millisecond} {
			for _, acks := range []string{"off", "40ms"} {
				all = append(all, kernelSetting{floor, r.name, acks, false})
			}
		}
	}
	all = append(all, kernelSetting{200 * time.Millisecond, today, "off", true})
	const subjects = 3
	results := make([]testbed.Result, len(all)*subjects*kernelSeeds)
	err := testbed.AtOnce(kernelAtOnce, len(results), func(i int) (err error) {
		s := p.kernelSpec(&all[i/(subjects*kernelSeeds)], p.FirstSeed+i%kernelSeeds)
		switch i / kernelSeeds % subjects {
		case 0:
			results[i], err = testbed.Run(ctx, s)
		case 1:
			s.Kind = testbed.Binding
			results[i], err = testbed.Run(ctx, s)
		case 2:
			results[i], err = testbed.RunKernel(ctx, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &experiments.Outcome{}
	t := experiments.Table{Name: "kernel", Title: fmt.Sprintf("Mean time of a response, ms, and timeouts, probes and "+
		"spurious retransmissions of %d responses, over a round trip of %v with the losses of %d seeds", kernelResponses,
		kernelRTT, kernelSeeds), Columns: []string{"recovery", "floor", "delayed ACKs", "engine, ms", "binding, ms",
		"kernel, ms", "kernel / engine", "median, engine", "kernel ",
		"engine: timeouts, probes, spurious", "binding ", "kernel  "}}
	var far []string
	for i, set := range all {
		var means, medians [subjects]float64
		var counts [subjects]string
		for k := range subjects {
			first := (i*subjects + k) * kernelSeeds
			means[k], medians[k], counts[k] = kernelSums(results[first : first+kernelSeeds])
		}
		ratio := means[2] / means[0]
		recovery := set.recovery
		if set.lossless {
			recovery = "no loss: a control"
		}
		t.Add(recovery, set.floor.String(), set.acks, means[0], means[1], means[2], ratio, medians[0], medians[2],
			counts[0], counts[1], counts[2])
		if math.Abs(ratio-1) > kernelNear/100.0 {
			far = append(far, fmt.Sprintf("%s, floor %v, delayed ACKs %s (%s times)", recovery, set.floor, set.acks,
				experiments.Number(ratio)))
		}
	}
	out.Tables = append(out.Tables, t)
	note := fmt.Sprintf("The kernel is within %d %% of the engine in %d of %d settings.", kernelNear,
		len(all)-len(far), len(all))
	if len(far) > 0 {
		note += " Not in: " + strings.Join(far, "; ") + "."
	}
	out.Notes = append(out.Notes, note)
	return out, nil
}

func (p *Plan) kernelSpec(set *kernelSetting, seed int) *testbed.Spec {
	at, some := randomAt(kernelRTT), p.set(0)
	s := p.spec(&at, &some, seed)
	s.Work.Objects, s.Limit = warm+kernelResponses, 2*time.Minute
	s.Kernel = map[string]string{"tcp_timestamps": "0", "tcp_rto_min_us": fmt.Sprint(set.floor.Microseconds())}
	for _, r := range kernelRecoveries {
		if r.name == set.recovery {
			s.Timers = testbed.MustTimers(fmt.Sprintf("linux floor=%v control=cubic -timestamps %s", set.floor, r.engine))
			for name, value := range r.kernel {
				s.Kernel[name] = value
			}
		}
	}
	if set.lossless {
		s.Path.Fates = testbed.Fates{}
	}
	s.Peer = testbed.MustTimers("linux -timestamps")
	if set.acks == "off" {
		s.Peer = testbed.MustTimers("linux delack=off -timestamps")
	}
	return s
}

func kernelSums(runs []testbed.Result) (mean, median float64, counts string) {
	var times []time.Duration
	var timeouts, probes uint64
	spurious := 0
	for i := range runs {
		r := &runs[i]
		times = append(times, r.Times...)
		timeouts, probes, spurious = timeouts+r.Timeouts, probes+r.Probes, spurious+r.Spurious
	}
	return stat.Mean(times) / 1e6, stat.Median(times) / 1e6, fmt.Sprintf("%d, %d, %d", timeouts, probes, spurious)
}
