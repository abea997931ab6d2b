package up

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropPrivileges gives up the capabilities of all threads, except those of the set keep, and the
// means to gain others by running programs. The error wraps errors.ErrUnsupported in a program that
// uses cgo: there Go cannot reach all threads.
func dropPrivileges(keep uint32) error {
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("set NoNewPrivs: %w", e)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now, next [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	next[0].Permitted, next[0].Effective = now[0].Permitted&keep, now[0].Effective&keep
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&next[0])), 0); e != 0 {
		return fmt.Errorf("drop capabilities: %w", e)
	}
	return nil
}

// dropPrivileges gives up what a running host does not need. Later files of a capture may lie in
// another user's folder.
func (s *Host) dropPrivileges() {
	var keep uint32
	if s.config.CaptureLimits.Files > 0 {
		keep = 1 << unix.CAP_DAC_OVERRIDE
	}
	if err := dropPrivileges(keep); errors.Is(err, errors.ErrUnsupported) {
		s.config.log("keeps its capabilities: a program built with CGO_ENABLED=0 drops them")
	} else if err != nil {
		s.config.log("keeps its capabilities: %v", err)
	}
}
