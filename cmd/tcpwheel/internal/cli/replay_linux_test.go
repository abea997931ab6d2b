package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun/kerneltruth"
	"tcpwheel/tun/link"
)

// lossyScenario draws what V2 must be told by: one to three connections over 4 to 100 ms, some of
// them over 5 to 100 Mbit/s, where 1 to 5 % are lost, singly or in bursts, and of some the ACKs
// too; in bulk, in bursts, in small writes and in responses by turns.
func lossyScenario(seed uint64) kerneltruth.Scenario {
	r := rand.New(rand.NewPCG(seed, 0x76322d76616c))
	between := func(least, most float64) float64 { return least * math.Exp(r.Float64()*math.Log(most/least)) }
	pause := func(least, most float64) quantity.DurationText {
		return quantity.DurationText(between(least, most) * float64(time.Millisecond))
	}
	rtt := time.Duration(between(4, 100) * float64(time.Millisecond))
	s := kerneltruth.Scenario{
		Name: fmt.Sprintf("lossy-%d", seed), Seed: seed, IPv6: r.Float64() < 0.3, Limit: quantity.DurationText(20 * time.Second), Connections: 1 + r.IntN(3),
	}
	link := sim.LinkConfig{Delay: rtt / 2}
	if r.Float64() < 0.4 {
		rate := between(5e6, 1e8)
		link.Rate = uint64(rate)
		link.Queue = sim.Limit{Packets: uint32(max(10, rate/12_000*rtt.Seconds()*between(0.7, 3)))}
	}
	s.Near = kerneltruth.Path{AToB: link, BToA: link}
	p := 0.01 + 0.04*r.Float64()
	if r.IntN(3) == 0 {
		s.Near.AToB.Loss = sim.Losses{sim.GilbertElliott{P: p / 3, R: 0.4, Bad: 1}}
	} else {
		s.Near.AToB.Loss = sim.Losses{sim.Bernoulli{P: p}}
	}
	if r.Float64() < 0.3 {
		s.Near.BToA.Loss = sim.Losses{sim.Bernoulli{P: 0.03 * r.Float64()}}
	}
	end := kerneltruth.Turn{From: "b", Bytes: 1}
	switch seed % 4 {
	case 0:
		s.Turns = []kerneltruth.Turn{{From: "a", Bytes: int(between(1e5, 1e6))}, end}
	case 1:
		s.Turns = []kerneltruth.Turn{{From: "a", Bytes: int(between(3e3, 6e4)), Pause: pause(20, 400), Times: 8}, end}
		s.Rounds = 2
	case 2:
		s.Turns = []kerneltruth.Turn{{From: "a", Bytes: 200 + r.IntN(1200), Pause: pause(20, 300), Times: 15}, end}
		s.Rounds = 2
	case 3:
		s.Turns = []kerneltruth.Turn{{From: "b", Bytes: 200 + r.IntN(400), Pause: pause(5, 100)}, {From: "a", Bytes: int(between(1e3, 6e4))}}
		s.Rounds = 15
	}
	return s
}

// TestReplayKernels is V2 to V4 with kernels: it captures connections of two kernels and has the
// command validate replays of them. How many it takes is TCPWHEEL_SCENARIOS, 8 if it is not set,
// and their first seed TCPWHEEL_SEED; the captures stay in the folder TCPWHEEL_KEEP, if it is set,
// each in one by its seed; -v shows the table. Where much else runs next to, links and the timers
// of the kernels are late, and no model knows by how much. So a round whose replays are mostly far
// off is repeated, and the test fails if nothing was late in two of them. So is a round with a
// failed scenario, and the test fails if all rounds had one. No load explains that other timers
// come as near as the kernels'.
func TestReplayKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q, want a number above 0", name, text)
		}
		return n
	}
	n, seed := number("TCPWHEEL_SCENARIOS", 8), number("TCPWHEEL_SEED", 1)
	ctx, cancel := context.WithTimeout(context.Background(), rounds*time.Duration(n)*30*time.Second)
	defer cancel()
	inTime, failed := 0, 0 // rounds in time that were off, and rounds with a failed scenario
	for round := 1; ; round++ {
		start := time.Now()
		var report string
		files, late, err := captureKernels(ctx, t, n, uint64(seed))
		if err != nil {
			failed++
			report = err.Error()
		} else {
			t.Logf("links, or a sleeping thread, were late by %v", late)
			wrong, off := judgeReplays(ctx, t, files)
			for _, what := range wrong {
				t.Error(what)
			}
			if len(off) == 0 {
				return
			}
			if late < busy {
				inTime++
			}
			report = strings.Join(off, "; ")
		}
		last := round == rounds || soonOver(t, 3*time.Since(start))
		switch {
		case inTime == 2:
			t.Fatalf("%s, although nothing was late", report)
		case last && failed == round:
			t.Fatal(report)
		case last:
			t.Skipf("%s: others are busy, too", report)
		}
		t.Logf("again: %s", report)
	}
}

const (
	rounds = 4 // how often scenarios are tried where much else runs

	// busy is how late something is where much else runs: by as much, kernels' timers were late.
	busy = 10 * time.Millisecond
)

// soonOver reports whether the tests of the package have less time left than that.
func soonOver(t *testing.T, left time.Duration) bool {
	deadline, ok := t.Deadline()
	return ok && time.Until(deadline) < left
}

// captureKernels runs n scenarios, and returns the captures at a's end and how late packets of a
// link were, one in a hundred, or a sleeping thread was once.
func captureKernels(ctx context.Context, t *testing.T, n int, seed uint64) (files []string, late time.Duration, err error) {
	t.Helper()
	dirs, errs := make([]string, n), make([]error, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, 3)
	for i := range n {
		dirs[i] = t.TempDir()
		if keep := os.Getenv("TCPWHEEL_KEEP"); keep != "" {
			dirs[i] = filepath.Join(keep, strconv.FormatUint(seed+uint64(i), 10))
		}
		files = append(files, filepath.Join(dirs[i], "a.pcapng.gz"))
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = kerneltruth.Run(ctx, lossyScenario(seed+uint64(i)), dirs[i])
		})
	}
	all.Wait()
	err = errors.Join(errs...)
	for _, missing := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENODEV, syscall.ENXIO} {
		if errors.Is(err, missing) {
			t.Skipf("no links, or no trace of the kernel, available here: %v", err)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	for _, dir := range dirs {
		late = max(late, lateIn(t, filepath.Join(dir, "fates.jsonl.gz")), lateIn(t, filepath.Join(dir, "kernel.jsonl.gz")))
	}
	return files, late, nil
}

// lateIn returns how late packets of a link were, as its log tells: the p99 in the worse direction.
// Or it returns how late a sleeping thread was, as the kernel's events tell.
func lateIn(t *testing.T, log string) (late time.Duration) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for lines := json.NewDecoder(z); ; {
		var line struct {
			Summary [2]link.Summary
			Late    time.Duration `json:"late_ns"`
		}
		if err := lines.Decode(&line); err == io.EOF {
			return late
		} else if err != nil {
			t.Fatal(err)
		}
		late = max(late, line.Summary[0].LateP99, line.Summary[1].LateP99, line.Late)
	}
}

// judgeReplays validates replays of captures, and returns what is wrong whatever runs next to, and
// what is off.
func judgeReplays(ctx context.Context, t *testing.T, files []string) (wrong, off []string) {
	t.Helper()
	args := append([]string{"replay", "--validate"}, files...)
	validate := func(args ...string) []byte {
		var out bytes.Buffer
		cmd := newRoot(args, bytes.NewReader(nil), &out, io.Discard)
		var missed *violation
		if err := cmd.ExecuteContext(ctx); err != nil && !errors.As(err, &missed) {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	t.Logf("\n%s", validate(args...))
	rows := json.NewDecoder(bytes.NewReader(validate(append(args, "--json")...)))
	for checks := 0; ; {
		var row checkRecord
		if err := rows.Decode(&row); err == io.EOF {
			if checks < 4 {
				wrong = append(wrong, fmt.Sprintf("%d checks, want V2, two of V3, and V4", checks))
			}
			return wrong, off
		} else if err != nil {
			t.Fatal(err)
		}
		if row.Type != "validation" {
			continue
		}
		checks++
		switch {
		case !row.Want && row.Passes:
			wrong = append(wrong, row.Check+" passes, with other timers than the kernel's")
		case row.Want && (row.Median > 0.05 || row.FastRight*5 < row.Fast*4):
			off = append(off, fmt.Sprintf("%s: recovery times are off by %.1f %% in the median, and %d of %d fast retransmissions are right",
				row.Check, 100*row.Median, row.FastRight, row.Fast))
		}
	}
}
