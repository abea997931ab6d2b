//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// instance is the kernel's tracing instance of this program. It sees the connections of port, in
// all namespaces.
const instance = "/sys/kernel/tracing/instances/tcpwheel-samples"

// tracing is a running trace.
type tracing struct {
	offset int64 // between the time since 1970 and the trace's time, ns
}

// startTracing makes the instance and starts it. One that an interrupted run has left is removed.
func startTracing() (t *tracing, err error) {
	t = &tracing{}
	_ = t.stop()
	if err := os.Mkdir(instance, 0o700); err != nil {
		return nil, fmt.Errorf("no tracefs: mount it: mount -t tracefs none /sys/kernel/tracing: %w", err)
	}
	settings := [][2]string{{"trace_clock", "mono"}, {"options/stacktrace", "1"}, {"buffer_size_kb", "4096"}}
	for _, event := range []string{"tcp_retransmit_skb", "tcp_retransmit_synack", "tcp_cong_state_set"} {
		settings = append(settings,
			[2]string{"events/tcp/" + event + "/filter", fmt.Sprintf("sport == %d || dport == %d", port, port)},
			[2]string{"events/tcp/" + event + "/enable", "1"})
	}
	for _, s := range settings {
		err = errors.Join(err, os.WriteFile(filepath.Join(instance, s[0]), []byte(s[1]), 0))
	}
	best := int64(math.MaxInt64)
	for range 10 {
		var before, wall, after unix.Timespec
		err = errors.Join(err, unix.ClockGettime(unix.CLOCK_MONOTONIC, &before), unix.ClockGettime(unix.CLOCK_REALTIME, &wall),
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after))
		if took := after.Nano() - before.Nano(); took < best {
			best, t.offset = took, wall.Nano()-(before.Nano()+after.Nano())/2
		}
	}
	if err != nil {
		return nil, errors.Join(err, t.stop())
	}
	return t, nil
}

// read returns the retransmissions traced so far.
func (t *tracing) read() ([]retransmission, error) {
	in, err := os.Open(filepath.Join(instance, "trace"))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return parseTrace(in, t.offset)
}

// stop removes the instance.
func (t *tracing) stop() error { return os.Remove(instance) }
