package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
)

func TestParseShard(t *testing.T) {
	slurm := func(id, least, most, count string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most, "SLURM_ARRAY_TASK_COUNT": count}
	}
	job := map[string]string{"JOB_COMPLETION_INDEX": "3"}
	for _, c := range []struct {
		text string
		env  map[string]string
		want experiments.Shard
		err  string
	}{
		{"", nil, experiments.Shard{}, ""},
		{"2/8", job, experiments.Shard{Index: 2, Of: 8}, ""},
		{"auto/8", job, experiments.Shard{Index: 3, Of: 8}, ""},
		{"auto/8", slurm("7", "0", "7", "8"), experiments.Shard{Index: 7, Of: 8}, ""},
		{"auto", slurm("7", "0", "7", "8"), experiments.Shard{Index: 7, Of: 8}, ""},
		{"auto", slurm("8", "1", "8", "8"), experiments.Shard{Index: 7, Of: 8}, ""},
		{"auto", slurm("5", "1", "7", "4"), experiments.Shard{Index: 2, Of: 4}, ""},
		{"auto", slurm("4", "4", "4", "1"), experiments.Shard{Index: 0, Of: 1}, ""},
		{"auto", slurm("3", "0", "7", "3"), experiments.Shard{}, "the array has 3 tasks from 0 to 7, which are not evenly spaced, want auto/n"},
		{"auto", slurm("3", "0", "", "3"), experiments.Shard{}, `SLURM_ARRAY_TASK_MAX is "", want a whole number`},
		{"auto", job, experiments.Shard{}, "a Kubernetes Job does not say its number of pods, want auto/n"},
		{"auto", nil, experiments.Shard{}, "SLURM_ARRAY_TASK_ID is not set, want a task of an array"},
		{"auto/2", nil, experiments.Shard{}, "neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID is set, want an indexed Job or an array"},
		{"auto/3", job, experiments.Shard{}, "shard 3 of 3, want one of 0 to n-1 of n, and n from 1 to 10000"},
		{"auto/2", map[string]string{"JOB_COMPLETION_INDEX": "x"}, experiments.Shard{}, `JOB_COMPLETION_INDEX is "x", want a whole number`},
		{"1", nil, experiments.Shard{}, "want i/n, auto or auto/n"},
		{"x/2", nil, experiments.Shard{}, "want i/n, auto or auto/n"},
		{"0/0", nil, experiments.Shard{}, "want i/n, auto or auto/n"},
		{"-1/2", nil, experiments.Shard{}, "shard -1 of 2, want one of 0 to n-1 of n, and n from 1 to 10000"},
	} {
		got, err := parseShard(c.text, func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("parseShard(%q, %v): %v, want %s", c.text, c.env, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("parseShard(%q, %v) = %v, %v, want %v", c.text, c.env, got, err, c.want)
		}
	}
}

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		part  float64
		spent time.Duration
		last  string
		want  string
	}{
		{0, 0, "", "  0 %, 0s"},
		{0.25, 10 * time.Second, "incast: n=8", " 25 %, 10s, about 30s left  incast: n=8"},
		{1, time.Minute, "x", "100 %, 1m0s, about 0s left  x"},
	} {
		if got := progressText(c.part, c.spent, c.last); got != c.want {
			t.Errorf("progressText(%v, %v) = %q, want %q", c.part, c.spent, got, c.want)
		}
	}
}

// TestInterruptedRunLeavesTheReport interrupts a run of minutes early: an earlier report stays, and
// no other file remains.
func TestInterruptedRunLeavesTheReport(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "report")
	run := func(ctx context.Context, args ...string) error {
		cmd := newExperimentRun()
		cmd.SetContext(ctx)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append(args, "--out", dir))
		return cmd.Execute()
	}
	if err := run(t.Context(), "nichols", "--quick"); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"frontier"}, {"frontier", "--shard", "0/1"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := run(ctx, args...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("run %v: %v, want that its context has ended", args, err)
		}
		cancel()
	}
	again, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil || !bytes.Equal(sums, again) {
		t.Errorf("the report is another one (%v)", err)
	}
	for in, want := range map[string]int{parent: 1, dir: 4} {
		if all, err := os.ReadDir(in); err != nil || len(all) != want {
			t.Errorf("%s holds %v, %v, want %d", in, all, err, want)
		}
	}
}

// TestLiveIsNotExact runs a live part whose claim has no interval.
func TestLiveIsNotExact(t *testing.T) {
	cmd := newExperimentRun()
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	out, err := runLivePart(cmd, "toy", func(context.Context) (*experiments.Outcome, error) {
		o := &experiments.Outcome{}
		o.Claim(experiments.Claim{
			Name: "fast", Text: "it is fast", Source: "hearsay", Tag: experiments.Computed, Class: experiments.Check, Expected: experiments.Below(9, "ns"),
			Measured: experiments.Measured(3.25, "ns"),
		})
		return o, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := out.Claims[0].Measured; m.Interval() != "" || m.String() != "3.25 ns" {
		t.Errorf("measured %q, interval %q, want no interval", m, m.Interval())
	}
}

// TestInterruptedRun interrupts a cell that computes on, and one that ends in time.
func TestInterruptedRun(t *testing.T) {
	for spent, want := range map[time.Duration]time.Duration{4 * time.Second: leaveAfter, leaveAfter / 2: leaveAfter / 2} {
		synctest.Test(t, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			cell := func(ctx context.Context) (json.RawMessage, error) {
				<-ctx.Done()
				time.Sleep(spent)
				return json.RawMessage("1"), nil
			}
			jobs := []*experiments.Job{{Study: &experiments.Study{Name: "slow"}, Cells: []experiments.Work{{Name: "cell", Cost: 1, Run: cell}}}}
			cmd := &cobra.Command{}
			cmd.SetContext(ctx)
			cmd.SetErr(io.Discard)
			time.AfterFunc(time.Second, interrupt)
			begun := time.Now()
			if _, err := runCells(cmd, jobs, experiments.Shard{}, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("the run ends with %v", err)
			}
			if took := time.Since(begun) - time.Second; took != want {
				t.Errorf("it ends %v after the interrupt, want %v", took, want)
			}
			time.Sleep(spent) // until the cell has ended, too
		})
	}
}
