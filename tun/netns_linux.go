package tun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// InNamespace calls f on a thread inside a network namespace and returns its error. The namespace
// is a name that "ip netns add" made, or a path with a slash such as "/proc/1234/ns/net"; "" is the
// caller's. Sockets and devices that f opens stay in the namespace wherever they are used later.
// Goroutines that f starts do not run in it. The thread ends with f.
func InNamespace(name string, f func() error) error {
	if name == "" {
		return f()
	}
	path := name
	if !strings.Contains(name, "/") {
		path = filepath.Join("/run/netns", name)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &Error{"open network namespace " + path, err, hintNamespace(err, name)}
	}
	defer unix.Close(fd)
	return onOwnThread(func() error {
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			return &Error{"enter network namespace " + path, err, hintNamespace(err, name)}
		}
		return f()
	})
}

// onOwnThread calls f on a thread of its own. The thread ends with f, whatever f did to it.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		// f called runtime.Goexit, as t.Fatal does
		err := errors.New("tun: the function ended its goroutine")
		defer func() { done <- err }()
		runtime.LockOSThread() // never unlocked: the runtime then ends the thread with the goroutine
		err = f()
	}()
	return <-done
}

func hintNamespace(err error, name string) string {
	switch {
	case errors.Is(err, unix.ENOENT) && !strings.Contains(name, "/"):
		return fmt.Sprintf("make it: ip netns add %s", name)
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN"
	case errors.Is(err, unix.EINVAL):
		return "name the ns/net file of a process, or a namespace of ip netns"
	}
	return ""
}

// Namespace is a network namespace without a name. It ends with Close or with the process.
type Namespace struct {
	file *os.File
}

// NewNamespace makes a network namespace. Its loopback device is down.
func NewNamespace() (*Namespace, error) {
	n := &Namespace{}
	err := onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return &Error{"make network namespace", err, hintNamespace(err, "")}
		}
		file, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		n.file = file
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Path returns a name of the namespace for Options.Netns. Other processes of the user can open it
// too.
func (n *Namespace) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
}

// Do is InNamespace for this namespace.
func (n *Namespace) Do(f func() error) error { return InNamespace(n.Path(), f) }

// Close releases the namespace. The kernel removes it, with its devices, when no process, socket or
// mount uses it.
func (n *Namespace) Close() error {
	return n.file.Close()
}
