package cli

import (
	"fmt"
	"runtime"
)

// system is the operating system. Tests change it.
var system = runtime.GOOS

// needLinux returns the error of a command that runs on Linux only, and nil there. what names the
// command or its flag, and why the part of Linux that it uses. The exit status is 2.
func needLinux(what, why string) error {
	if system == "linux" {
		return nil
	}
	return hinted(fmt.Errorf("%s needs Linux for %s, and this is %s: "+
		"demo, analyze, replay, experiment and script run on every system", what, why, system), "")
}

// What commands use of Linux.
const (
	tunDevices = "its TUN devices"
	namespaces = "TUN devices in network namespaces"
)
