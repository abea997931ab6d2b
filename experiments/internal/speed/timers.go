package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel"
	"tcpwheel/wheel/wheelbench"
)

// timers measures each workload of wheelbench for numbers of timers up to 10^7.
func timers(ctx context.Context, quick bool, ratas string) (all result, err error) {
	o := wheelbench.Options{
		Schemes: []string{wheel.Default, "scheme7-lazy", wheelbench.Runtime},
		Rounds:  7, Budget: 600 * time.Millisecond,
	}
	if quick {
		o.Rounds = 6
	}
	growth := make(map[string]map[string]*figure.Series)
	cells := make(map[string]float64)
	for _, w := range wheelbench.Workloads() {
		sizes := []int{1e3, 1e4, 1e5, 1e6, 1e7}
		switch w.Name {
		case "ratas":
			sizes = []int{ratasTimers / 1024, ratasTimers / 32, ratasTimers, 10 * ratasTimers}
		}
		growth[w.Name] = make(map[string]*figure.Series)
		for _, n := range sizes {
			one := o
			one.Workloads, one.N = []string{w.Name}, []int{n}
			if n > 1e6 { // a pass takes seconds
				if quick {
					continue
				}
				one.Rounds = 2
			}
			for r, err := range wheelbench.Run(ctx, one) {
				if err != nil {
					return all, err
				}
				if r.Figures == nil {
					continue
				}
				cells[cell(w.Name, r.Scheme, r.N)] = r.NsLow
				s := growth[w.Name][r.Scheme]
				if s == nil {
					s = &figure.Series{Name: r.Scheme, Kind: figure.Line}
					growth[w.Name][r.Scheme] = s
				}
				s.Add(float64(r.N), r.NsLow)
			}
		}
	}
	peers := peersOfGo(ctx)
	for _, of := range []struct{ work, peer string }{{"start-stop", "StartStop"}, {"rearm", "Rearm"}, {"expire",
		"Expire"}} {
		r := row{Work: of.work + ", 10^6 timers", Unit: "ns", Ours: cells[cell(of.work, wheel.Default, 1e6)],
			Peer: cells[cell(of.work, wheelbench.Runtime, 1e6)], BestPeer: "Go runtime"}
		if ns, name := peers[of.peer].ns, peers[of.peer].name; ns > 0 && ns < r.Peer {
			r.Peer, r.BestPeer = ns, name
		}
		all.rows = append(all.rows, r)
		if of.work == "expire" {
			r.Work, r.Ours = "expire, scheme7-lazy", cells[cell(of.work, "scheme7-lazy", 1e6)]
			all.rows = append(all.rows, r)
		}
	}
	original := runOriginal(ctx, ratas)
	for _, scheme := range []string{"scheme7-lazy", wheel.Default} {
		all.rows = append(all.rows, row{Work: "Ratas' mix, 32 k pairs, " + scheme, Unit: "ns a message",
			Ours: cells[cell("ratas", scheme, ratasTimers)],
			Peer: original, BestPeer: "Ratas (C++)"})
	}
	for _, name := range []string{"start-stop", "rearm", "expire", "ratas"} {
		f := figure.Figure{Name: "speed-" + name, Title: "Time of " + name + " by the number of timers",
			X: figure.Axis{Label: "timers", Log: true}, Y: figure.Axis{Label: "ns per operation", Log: true}}
		for _, scheme := range o.Schemes {
			if s := growth[name][scheme]; s != nil {
				f.Series = append(f.Series, *s)
			}
		}
		all.figures = append(all.figures, f)
	}
	return all, nil
}

// ratasTimers is the timers of 32,768 pairs.
const ratasTimers = 327_680

func cell(workload, scheme string, n int) string { return fmt.Sprint(workload, " ", scheme, " ", n) }

type peer struct {
	name string
	ns   float64
}

// peersOfGo runs the benchmarks of wheel/peers, a module of its own. It returns the fastest peer of
// each with 10^6 timers.
func peersOfGo(ctx context.Context) map[string]peer {
	best := make(map[string]peer)
	out, err := exec.CommandContext(ctx, "go", "-C", "wheel/peers", "test", "-run", "^$", "-benchtime", "200ms",
		"-bench", "./impl=(container-heap|timingwheel|antlabs-timer)$/n=1000000$").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed: peers of Go not measured:", err)
		return best
	}
	for name, metrics := range benchmarks(out) {
		work, rest, _ := strings.Cut(strings.TrimPrefix(name, "Benchmark"), "/impl=")
		impl, _, _ := strings.Cut(rest, "/")
		ns := metrics["ns/op"]
		if per := metrics["ns/timer"]; per > 0 {
			ns = per
		}
		if b := best[work]; b.ns == 0 || ns < b.ns {
			best[work] = peer{impl, ns}
		}
	}
	return best
}

// benchmarks reads the output of go test -bench: the metrics of each benchmark by unit.
func benchmarks(out []byte) map[string]map[string]float64 {
	all := make(map[string]map[string]float64)
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		metrics := make(map[string]float64)
		for i := 2; i+1 < len(f); i += 2 {
			metrics[f[i+1]], _ = strconv.ParseFloat(f[i], 64)
		}
		all[f[0]] = metrics
	}
	return all
}

// runOriginal runs the benchmark program of Ratas three times. It returns its least time in ns
// a message. The program is C++ and not part of the project: the result is 0 without it.
func runOriginal(ctx context.Context, program string) (ns float64) {
	if program == "" {
		return 0
	}
	for range 3 {
		cmd := exec.CommandContext(ctx, program)
		cmd.Env = append(os.Environ(), "BENCH_PRINT_TRACE=no", "BENCH_PAIR_COUNT=32768", "BENCH_ALLOW_SCHEDULE_IN_RANGE=yes")
		out, err := cmd.Output()
		// It prints its name, the pairs, whether ranges are used, the seconds and the messages.
		fields := strings.Split(strings.TrimSpace(string(out)), ",")
		if err != nil || len(fields) != 5 {
			fmt.Fprintf(os.Stderr, "speed: %s: %v: %q\n", program, err, out)
			return 0
		}
		seconds, _ := strconv.ParseFloat(fields[3], 64)
		messages, _ := strconv.ParseFloat(fields[4], 64)
		if per := seconds * 1e9 / max(messages, 1); ns == 0 || per < ns {
			ns = per
		}
	}
	return ns
}
