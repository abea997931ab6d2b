//go:build linux || darwin || freebsd

package cli

import (
	"os"
	"syscall"
	"unsafe"
)

// windowColumns returns the width of a terminal.
func windowColumns(f *os.File) (n int, ok bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), failed == 0 && size.columns > 0
}
