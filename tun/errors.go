package tun

import "fmt"

// Error says which step of the work on a device failed, why, and what to do.
type Error struct {
	Step string // "open /dev/net/tun", "TUNSETIFF wheel0", …
	Err  error  // the system's error
	Hint string // what to do, if known
}

// Error returns all three on one line.
func (e *Error) Error() string {
	s := "tun: " + e.Step + ": " + e.Err.Error()
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Unwrap returns Err, so that errors.Is finds fs.ErrPermission, fs.ErrNotExist or the
// syscall.Errno.
func (e *Error) Unwrap() error { return e.Err }

// CheckName returns an error unless name is empty, a device name, or a pattern such as "wheel%d".
func CheckName(name string) error {
	const most = 15 // IFNAMSIZ less the final 0
	if len(name) > most {
		return fmt.Errorf("device name %q of %d bytes, want at most %d", name, len(name), most)
	}
	if name == "." || name == ".." {
		return fmt.Errorf("device name %q, want another", name)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == '/' || c == ':' || c == 0x7f {
			return fmt.Errorf("device name %q with %q, which a device name cannot contain", name, c)
		}
	}
	return nil
}
