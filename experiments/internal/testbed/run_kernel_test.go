package testbed

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestKernel loses the tail of each object of the kernel's TCP once. The repair takes longer than
// the shortest timer, and at most ten times as long as with the model of the kernel's timers.
func TestKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux")
	}
	for _, shape := range []Shape{Bulk, Answers, Web, Tail} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			s := spec(Engine, shape, "tail:1")
			s.Flows, s.Limit, s.Work.Think, s.Stagger = 1, 20*time.Second, 50*time.Millisecond, 50*time.Millisecond
			if shape != Bulk {
				s.Work.Objects, s.Work.Warm = 5, 2
			}
			r, err := RunKernel(t.Context(), s)
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENODEV) ||
				errors.Is(err, syscall.ENXIO) {
				t.Skipf("no TUN device here: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			model := mustRun(t, s)
			t.Logf("kernel %+v", r)
			t.Logf("model %+v", model)
			if len(r.Times) != len(model.Times) || r.Unfinished != 0 || r.Bytes != model.Bytes {
				t.Fatalf("%d objects of %d bytes, %d of them unfinished; the model has %d of %d", len(r.Times), r.Bytes,
					r.Unfinished,
					len(model.Times), model.Bytes)
			}
			// With Web, the SACK of the FIN reveals the loss.
			if r.Lost < model.Lost || r.Repaired < model.Lost || shape != Web && r.Timeouts+r.Probes == 0 {
				t.Errorf("%d lost, %d repaired by %d timeouts and %d probes; the model lost %d", r.Lost, r.Repaired, r.Timeouts,
					r.Probes, model.Lost)
			}
			for i, d := range r.Times {
				if least := 50 * time.Millisecond; d < least || d > 10*model.Times[i]+5*time.Second {
					t.Errorf("object %d took %v, the model %v", i, d, model.Times[i])
				}
			}
		})
	}
}

// TestKernelMeetsTheSameLosses: at first transmissions, those of the engine.
func TestKernelMeetsTheSameLosses(t *testing.T) {
	s := spec(Engine, Answers, "fates:0.1,times=1")
	s.Flows, s.Limit, s.Work.Think, s.Stagger = 1, 20*time.Second, 10*time.Millisecond, 0
	s.Timers, s.Peer = MustTimers("linux -timestamps"), MustTimers("linux delack=off -timestamps")
	s.Kernel = map[string]string{"tcp_timestamps": "0"}
	r, err := RunKernel(t.Context(), s)
	if err != nil {
		t.Skipf("no TUN device here: %v", err)
	}
	if model := mustRun(t, s); r.Lost != model.Lost || r.Lost == 0 {
		t.Errorf("%d lost, the engine lost %d", r.Lost, model.Lost)
	}
}

// TestKernelIsCutOff checks that the limit ends a connection that hangs.
func TestKernelIsCutOff(t *testing.T) {
	s := spec(Engine, Answers, "outages:0s-1h")
	s.Flows, s.Limit, s.Stagger = 1, 300*time.Millisecond, 0
	r, err := RunKernel(context.Background(), s)
	if err != nil {
		t.Skipf("no TUN device here: %v", err)
	}
	if r.Unfinished != len(r.Times) || r.Bytes != 0 {
		t.Errorf("%+v, want nothing finished", r)
	}
	s.Flows = 2
	if _, err := RunKernel(context.Background(), s); err == nil {
		t.Error("RunKernel accepted two flows")
	}
}
