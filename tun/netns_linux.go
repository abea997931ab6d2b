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

// InNamespace calls f on a thread that is in a network namespace, and returns its error. The namespace is the name of
// one that "ip netns add" made, or a path with a slash, such as "/proc/1234/ns/net"; empty is that of the caller. What f
// opens there, sockets and devices, stays in the namespace wherever it is used later; goroutines that f starts are not
// in it. The thread ends with f.
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

// onOwnThread calls f on a thread that does nothing else, and that ends with it, whatever f did to it.
func onOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("tun: the function ended its goroutine") // as t.Fatal does
		defer func() { done <- err }()
		runtime.LockOSThread() // and never unlock: the runtime then ends the thread with the goroutine
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

// Namespace is a network namespace of our own without a name: it ends with Close, or with the process.
type Namespace struct {
	file *os.File
}

// NewNamespace makes a network namespace. Its loopback device is down, as all that is in it.
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

// Path returns a name of the namespace for Options.Netns, which also other processes of the user can open.
func (n *Namespace) Path() string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
}

// Do is InNamespace.
func (n *Namespace) Do(f func() error) error { return InNamespace(n.Path(), f) }

// Close gives the namespace up. It and all devices in it end when nothing else uses it: no process, socket or mount.
func (n *Namespace) Close() error {
	return n.file.Close()
}
