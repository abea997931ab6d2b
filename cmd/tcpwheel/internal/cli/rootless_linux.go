package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"tcpwheel/tun/netns"
	"tcpwheel/tun/up"
)

// insideRootless is set in the environment of the process in the namespaces. Its value is the
// number of files that it was given: 1 for the status server's listener, or 0.
const insideRootless = "TCPWHEEL_ROOTLESS"

// runRootless runs this command again in a user namespace and a network namespace of its own, where
// it may make a TUN device. The status server listens in the caller's. Its error is silent if the
// process in the namespaces has said why it failed.
func runRootless(status string, stdin io.Reader, stdout, stderr io.Writer) error {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	files := 0
	if status != "" {
		l, err := net.Listen("tcp", status)
		if err != nil {
			return fmt.Errorf("up: status: %w", err)
		}
		f, err := l.(*net.TCPListener).File()
		l.Close()
		if err != nil {
			return fmt.Errorf("up: status: %w", err)
		}
		defer f.Close()
		cmd.ExtraFiles, files = []*os.File{f}, 1
	}
	cmd.Env = append(os.Environ(), insideRootless+"="+strconv.Itoa(files))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGTERM,
	}
	runtime.LockOSThread() // Pdeathsig is of the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		const other = "a container or a seccomp filter may forbid them: run it outside, or as root without --rootless"
		return &exitError{fmt.Errorf("up: make a user namespace: %w", err), exitFailed, cmp.Or(namespaceHint(), other)}
	}
	stop := passSignals(cmd.Process, !isTerminal(stdout))
	defer stop()
	err := cmd.Wait()
	if program := new(exec.ExitError); errors.As(err, &program) {
		return exit(exitStatus(program))
	}
	return err
}

// passSignals passes signals on to a process. A terminal sends an interrupt to the process itself.
func passSignals(to *os.Process, interrupts bool) (stop func()) {
	got := make(chan os.Signal, 4)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range got {
			if s != os.Interrupt || interrupts {
				_ = to.Signal(s) // it may have ended
			}
		}
	}()
	return func() { signal.Stop(got); close(got) }
}

// namespaceHint says what keeps users from making namespaces, and what to do, or "" if it is
// unknown.
func namespaceHint() string {
	read := func(name string) string {
		b, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	switch {
	case read("user/max_user_namespaces") == "0":
		return "the kernel allows none: have root run 'sysctl user.max_user_namespaces=10000'"
	case read("kernel/unprivileged_userns_clone") == "0":
		return "this system forbids them to users: have root run 'sysctl kernel.unprivileged_userns_clone=1'"
	case read("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "AppArmor forbids them: have root run 'sysctl kernel.apparmor_restrict_unprivileged_userns=0', or allow this program"
	}
	return ""
}

// rootless reports whether this is the process in the namespaces.
func rootless() bool { return os.Getenv(insideRootless) != "" }

// enterRootless prepares the process in the namespaces.
func enterRootless(c *up.Config) error {
	if os.Getenv(insideRootless) == "1" {
		f := os.NewFile(3, "status")
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("up: status: %w", err)
		}
		c.StatusListener = l
	}
	os.Unsetenv(insideRootless)
	return netns.LoopbackUp("")
}

// runInside runs the host in the namespaces, and a command of the user. The host ends with it.
// Without a command it prints how to enter the namespaces.
func runInside(ctx context.Context, c up.Config, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(command) == 0 {
		err := up.Run(ctx, c, func(s string) {
			c.Log(s)
			c.Log(fmt.Sprintf("enter with: nsenter --preserve-credentials -U -n -t %d", os.Getpid()))
		})
		return hintPermission(err)
	}
	// Interrupts are for the command.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ended := make(chan error, 1)
	started := false
	err := up.Run(ctx, c, func(s string) {
		c.Log(s)
		started = true
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
		go func() {
			err := cmd.Run()
			ended <- err
			stop()
		}()
	})
	if err != nil || !started {
		return hintPermission(err)
	}
	if err = <-ended; err == nil {
		return nil
	}
	status := exitFailed
	if program := new(exec.ExitError); errors.As(err, &program) {
		status = exitStatus(program)
	}
	return &exitError{fmt.Errorf("%s: %w", command[0], err), status, ""}
}

// hintPermission adds to an error what keeps a user namespace from making devices.
func hintPermission(err error) error {
	if hint := namespaceHint(); hint != "" && errors.Is(err, fs.ErrPermission) {
		return &exitError{err, exitFailed, hint}
	}
	return err
}

// shellOf returns the user's shell, if there is a terminal for it.
func shellOf(in io.Reader) []string {
	if !isInteractive(in) {
		return nil
	}
	if shell := os.Getenv("SHELL"); shell != "" {
		return []string{shell}
	}
	return []string{"/bin/sh"}
}
