package tun

import "fmt"

// Error says which step of work on a device failed, why, and what to do.
type Error struct {
	Step string // "open /dev/net/tun", "TUNSETIFF wheel0", …
	Err  error  // what the system said
	Hint string // what to do, if that is known
}

// Error returns all three on one line.
func (e *Error) Error() string {
	s := "tun: " + e.Step + ": " + e.Err.Error()
	if e.Hint != "" {
		s += ": " + e.Hint
	}
	return s
}

// Unwrap returns Err, so that errors.Is finds fs.ErrPermission, fs.ErrNotExist or the syscall.Errno.
func (e *Error) Unwrap() error { return e.Err }

// checkName returns an error unless name can be that of a device, or is empty, or is a pattern as in "wheel%d".
func checkName(name string) error {
	const most = 15 // IFNAMSIZ less the final 0
	if len(name) > most {
		return fmt.Errorf("tun: device name %q of %d octets, want at most %d", name, len(name), most)
	}
	if name == "." || name == ".." {
		return fmt.Errorf("tun: device name %q, want one that is no directory", name)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == '/' || c == ':' || c == 0x7f {
			return fmt.Errorf("tun: device name %q with %q, want no blank, slash or colon", name, c)
		}
	}
	return nil
}
