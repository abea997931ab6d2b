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
	for _, args := range [][]string{{"frontier"}, {"frontier", "--workers", "1"}} {
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
	for in, want := range map[string]int{parent: 2, dir: 4} {
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
			if _, err := runCells(cmd, jobs, nil, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("the run ends with %v", err)
			}
			if took := time.Since(begun) - time.Second; took != want {
				t.Errorf("it ends %v after the interrupt, want %v", took, want)
			}
			time.Sleep(spent) // until the cell has ended, too
		})
	}
}
