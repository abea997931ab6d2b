//go:build !js

package cli

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"tcpwheel/tun/link"
)

// commands are the commands of the program, in the order of its help. In a page it has others.
var commands = []command{
	{"demo", newDemo},
	{"analyze", newAnalyze},
	{"replay", newReplay},
	{"samples", newSamples},
	{"up", newUp},
	{"link", newLink},
	{"experiment", newExperiment},
	{"script", newScript},
	{"wheel", newWheel},
	{"version", newVersion},
}

// endingSignals returns the signals that end a command.
func endingSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // ignored under nohup
		all = append(all, syscall.SIGHUP)
	}
	return all
}

func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }

// programOfCaller returns how a program of the caller failed, nil if none did.
func programOfCaller(err error) (exit *exec.ExitError) {
	if command := (*link.CommandError)(nil); errors.As(err, &command) {
		errors.As(command.Err, &exit)
	}
	return exit
}
