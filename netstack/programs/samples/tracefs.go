//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// tracing is an instance of the kernel's tracing. It sees the connections of one port, in all
// namespaces.
type tracing struct {
	dir    string
	offset int64
}

// instances counts the instances that this process has made.
var instances atomic.Int64

// startTracing makes an instance and starts it.
func startTracing(port uint16) (t *tracing, err error) {
	root := ""
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(filepath.Join(dir, "instances")); err == nil {
			root = dir
			break
		}
	}
	if root == "" {
		return nil, fmt.Errorf("samples: no tracefs: mount it: mount -t tracefs none /sys/kernel/tracing: %w", fs.ErrNotExist)
	}
	t = &tracing{dir: filepath.Join(root, "instances", fmt.Sprintf("tcpwheel-%d-%d", os.Getpid(), instances.Add(1)))}
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("samples: %w", err), t.stop())
		}
	}()
	filter := fmt.Sprintf("sport == %d || dport == %d", port, port)
	settings := [][2]string{
		{"trace_clock", "mono"}, {"options/stacktrace", "1"}, {"buffer_size_kb", "4096"},
		{"events/tcp/tcp_retransmit_skb/filter", filter},
		{"events/tcp/tcp_retransmit_synack/filter", filter},
		{"events/tcp/tcp_cong_state_set/filter", filter},
		{"events/tcp/tcp_cong_state_set/enable", "1"},
		{"events/tcp/tcp_retransmit_synack/enable", "1"},
		{"events/tcp/tcp_retransmit_skb/enable", "1"},
	}
	for _, s := range settings {
		if err := os.WriteFile(filepath.Join(t.dir, s[0]), []byte(s[1]), 0); err != nil {
			return t, err
		}
	}
	t.offset, err = sinceBoot()
	return t, err
}

// sinceBoot returns the difference between the time since 1970 and the trace's time.
func sinceBoot() (offset int64, err error) {
	best := int64(math.MaxInt64)
	for range 10 {
		var before, wall, after unix.Timespec
		if err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC, &before), unix.ClockGettime(unix.CLOCK_REALTIME, &wall),
			unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)); err != nil {
			return 0, err
		}
		if took := after.Nano() - before.Nano(); took < best {
			best, offset = took, wall.Nano()-(before.Nano()+after.Nano())/2
		}
	}
	return offset, nil
}

// read returns the retransmissions traced so far.
func (t *tracing) read() ([]Retransmission, error) {
	in, err := os.Open(filepath.Join(t.dir, "trace"))
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	defer in.Close()
	return parseTrace(in, t.offset)
}

// stop removes the instance.
func (t *tracing) stop() error {
	if err := os.Remove(t.dir); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	return nil
}
