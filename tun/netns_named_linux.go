package tun

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// namespaceDir is where "ip netns" keeps namespaces.
const namespaceDir = "/run/netns"

// NamedNamespace is a network namespace with a name, as "ip netns add" makes it. "ip netns exec"
// runs programs in it, and Options.Netns takes the name. It remains until Close, even after the
// process ends.
type NamedNamespace struct {
	name, path string
}

// AddNamespace makes a network namespace with that name. Its loopback device is down. It fails if
// the name exists.
func AddNamespace(name string) (*NamedNamespace, error) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || len(name) > 255 {
		return nil, fmt.Errorf("tun: namespace name %q, want a file name", name)
	}
	if err := os.MkdirAll(namespaceDir, 0o755); err != nil {
		return nil, &Error{"make " + namespaceDir, err, hintNamespace(unwrapErrno(err), "")}
	}
	n := &NamedNamespace{name, filepath.Join(namespaceDir, name)}
	file, err := os.OpenFile(n.path, os.O_CREATE|os.O_EXCL|os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		hint := hintNamespace(unwrapErrno(err), "")
		if errors.Is(err, os.ErrExist) {
			hint = "it exists already: use it, use another name, or remove it: ip netns del " + name
		}
		return nil, &Error{"make network namespace " + name, unwrapErrno(err), hint}
	}
	file.Close()
	err = onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		return unix.Mount(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()), n.path, "none", unix.MS_BIND, "")
	})
	if err != nil {
		os.Remove(n.path)
		return nil, &Error{"make network namespace " + name, err, hintNamespace(err, "")}
	}
	return n, nil
}

// RemoveNamespace removes the name of a network namespace, as "ip netns del" does. The namespace
// ends when nothing else uses it. The error is os.ErrNotExist if there is none.
func RemoveNamespace(name string) error {
	path := filepath.Join(namespaceDir, name)
	if _, err := os.Lstat(path); err != nil {
		return &Error{"remove network namespace " + name, unwrapErrno(err), ""}
	}
	return (&NamedNamespace{name, path}).Close()
}

// Name returns the name.
func (n *NamedNamespace) Name() string { return n.name }

// Close removes the name, as "ip netns del" does. The namespace ends when nothing else uses it.
func (n *NamedNamespace) Close() error {
	if err := unix.Unmount(n.path, unix.MNT_DETACH); err != nil {
		return &Error{"remove network namespace " + n.name, err, hintNamespace(err, "")}
	}
	return os.Remove(n.path)
}

// unwrapErrno returns the system's error without the operation and path.
func unwrapErrno(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
