package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Commands are programs to run in the namespaces while the link is up.
type Commands struct {
	B string   // shell command for b's namespace, started first, without input; "" is none
	A []string // program and arguments for a's namespace; the link ends with it; nil is none

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs a link until the context ends, Commands.A has ended, or Commands.B has failed. The end
// of the context is no error. The failure of a command is a *CommandError; the deletion of a device
// is an error too. Run calls ready with the link when it is up, and the function that ready
// returned before the link closes.
func Run(ctx context.Context, c Config, cmds Commands, ready func(*Link) (ending func())) ([2]Summary, error) {
	l, err := Start(c)
	if err != nil {
		return [2]Summary{}, err
	}
	if cmds.Stdout == cmds.Stderr {
		w := together(cmds.Stdout)
		cmds.Stdout, cmds.Stderr = w, w
	} else {
		cmds.Stdout, cmds.Stderr = together(cmds.Stdout), together(cmds.Stderr)
	}
	ending := ready(l)
	err = l.run(ctx, cmds)
	ending()
	s, closing := l.Close()
	return s, errors.Join(err, closing)
}

func (l *Link) run(ctx context.Context, cmds Commands) (err error) {
	var (
		a, b          *program
		ended, failed <-chan struct{} // nil without a program
	)
	defer func() {
		a.stop()
		b.stop()
	}()
	if cmds.B != "" {
		cmd := exec.Command("/bin/sh", "-c", cmds.B)
		cmd.Stdout, cmd.Stderr = cmds.Stdout, cmds.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
		if b, err = l.startProgram(1, cmd); err != nil {
			return err
		}
		failed = b.failed
	}
	if cmds.A != nil {
		cmd := exec.Command(cmds.A[0], cmds.A[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = cmds.Stdin, cmds.Stdout, cmds.Stderr
		if a, err = l.startProgram(0, cmd); err != nil {
			return err
		}
		ended = a.done
	}
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		if a.err != nil {
			return &CommandError{cmds.A[0], a.err}
		}
		select {
		case <-failed:
			return &CommandError{"b-run", b.err}
		default:
			return nil
		}
	case <-failed:
		return &CommandError{"b-run", b.err}
	case <-l.devices[0].Done():
		return l.devices[0].Err()
	case <-l.devices[1].Done():
		return l.devices[1].Err()
	}
}

// program is a running program.
type program struct {
	pid   int // negative for a process group
	group bool

	done   chan struct{} // closed at its end
	failed chan struct{} // closed at its end, unless its status is 0
	err    error         // valid after done: nil is status 0
}

// together returns a writer that two programs can share. Files can be shared as they are.
func together(w io.Writer) io.Writer {
	switch w.(type) {
	case nil, *os.File:
		return w
	}
	return &sharedWriter{w: w}
}

type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// startProgram starts a program in the namespace of a side.
func (l *Link) startProgram(side int, cmd *exec.Cmd) (*program, error) {
	start := func() error { return l.inSide(side, cmd.Start) }
	if l.first {
		start = func() error { return l.inSide(side, func() error { return asOrdinary(cmd.Start) }) }
	}
	if err := start(); err != nil {
		return nil, fmt.Errorf("link: start in the namespace of %s: %w", sideName(side), err)
	}
	cmd.WaitDelay = time.Second // for its children to close the output
	p := &program{pid: cmd.Process.Pid, done: make(chan struct{}), failed: make(chan struct{})}
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Setpgid {
		p.pid, p.group = -p.pid, true
	}
	go func() {
		if err := cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) {
			p.err = err
		}
		if p.err != nil {
			close(p.failed)
		}
		close(p.done)
	}()
	return p, nil
}

// stop asks a program to end, kills it after two seconds, and waits for its end. Of a process group
// it kills everything left. It does nothing to nil.
func (p *program) stop() {
	if p == nil {
		return
	}
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may have ended just now
		select {
		case <-p.done:
		case <-time.After(2 * time.Second):
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
			<-p.done
		}
	}
	if p.group {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
