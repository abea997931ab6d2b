package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

// Link is two devices with an emulated link between them.
type Link struct {
	config   Config
	spaces   [2]*tun.NamedNamespace
	devices  [2]*tun.Device
	clock    *wheel.Realtime
	recorder *recorder
	joined   *tun.Joined
	first    bool // the process runs at real-time priority
	closed   bool
}

const (
	tick     = time.Microsecond // of the clock: on average half of it is added to each delay
	queueLen = 10000            // packets that a kernel queues for the link
)

// Start makes the devices, configures the kernels and joins them. Its error is that of
// Config.Check, of a file, or of package tun, which says what to do. Then nothing of the link
// remains except files.
func Start(c Config) (*Link, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	l := &Link{config: c}
	if err := l.start(); err != nil {
		_, closing := l.Close()
		return nil, errors.Join(err, closing)
	}
	return l, nil
}

func (l *Link) start() (err error) {
	c := &l.config
	if c.MakeNamespaces {
		for i := range l.spaces {
			if l.spaces[i], err = l.addNamespace(c.Sides[i].Netns); err != nil {
				return err
			}
			if err := netns.LoopbackUp(c.Sides[i].Netns); err != nil {
				return err
			}
		}
	}
	for i := range l.devices {
		name := c.Sides[i].Device
		if name == "" {
			name = "link%d"
		}
		o := tun.Options{Netns: c.Sides[i].Netns, MTU: c.MTU, NoOffload: !c.Offload}
		if l.devices[i], err = tun.Open(name, o); err != nil {
			return err
		}
		if err := l.devices[i].SetQueueLen(queueLen); err != nil {
			return err
		}
	}
	epoch := time.Now()
	if l.clock, err = wheel.Start(wheel.RealtimeConfig{Tick: tick, Alarm: wheel.AlarmConfig{Epoch: epoch}}); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	if l.recorder, err = newRecorder(c, l.clock, epoch); err != nil {
		return fmt.Errorf("link: %w", err)
	}
	l.joined, err = tun.Join(l.devices[0].Endpoint(), l.devices[1].Endpoint(), tun.LinkOptions{
		There: c.Links[0], Back: c.Links[1], Seed: c.Seed, PathMTU: c.PathMTU, Clock: l.clock, Tap: l.recorder,
	})
	if err != nil {
		return err
	}
	l.recorder.mu.Lock()
	l.recorder.upToDate = l.joined.TapCaughtUp
	l.recorder.mu.Unlock()
	for i, d := range l.devices {
		netns.Quieten(d, c.Sides[i].Addrs)
		if err := netns.Configure(context.Background(), d, c.Sides[i].Addrs, c.Sides[1-i].Addrs); err != nil {
			return err
		}
	}
	if c.Realtime {
		l.first = true
		return enterRealtime()
	}
	return nil
}

// addNamespace makes a namespace. If it exists, the error says how to remove what is left of both.
func (l *Link) addNamespace(name string) (*tun.NamedNamespace, error) {
	if l.config.Force {
		if err := tun.RemoveNamespace(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	n, err := tun.AddNamespace(name)
	var e *tun.Error
	if errors.Is(err, os.ErrExist) && errors.As(err, &e) {
		e.Hint = fmt.Sprintf("another link uses it, or a killed one left it: use --force to remove %s and %s, or other names",
			l.config.Sides[0].Netns, l.config.Sides[1].Netns)
	}
	return n, err
}

// Device returns the device of a side.
func (l *Link) Device(side int) *tun.Device { return l.devices[side] }

// Summary returns the counts of both directions so far.
func (l *Link) Summary() (s [2]Summary) {
	for d := range s {
		s[d].Direction = Direction(d)
		if l.joined == nil {
			continue
		}
		c := l.joined.Counts()[d]
		r := l.recorder
		r.mu.Lock()
		s[d].TooBig, s[d].Bytes = r.tooBig[d], r.bytes[d]
		r.mu.Unlock()
		s[d].Packets, s[d].Delivered, s[d].Queue, s[d].Lost = c.Packets+s[d].TooBig, c.Delivered, c.QueueDropped, c.Lost
		s[d].Reordered, s[d].Duplicated, s[d].Corrupted, s[d].Marked = c.Reordered, c.Duplicated, c.Corrupted, c.Marked
		s[d].LateP50, s[d].LateP99, s[d].LateMax = r.lateness(d)
		s[d].KernelDrops, _ = l.devices[d].KernelDrops() // 0 if the device is gone
		s[d].Refused = l.devices[1-d].Stats().TxErrors
	}
	return s
}

// inSide calls f on a thread in the namespace of a side. What f opens and starts stays there.
func (l *Link) inSide(side int, f func() error) error {
	return tun.InNamespace(l.config.Sides[side].Netns, f)
}

// Close ends the link, closes the files, and removes devices and namespaces. It returns the counts
// of both directions. A second call does nothing.
func (l *Link) Close() (s [2]Summary, err error) {
	if l.closed {
		return s, nil
	}
	l.closed = true
	if l.first {
		err = leaveRealtime()
	}
	if l.joined != nil {
		l.joined.Close()
	}
	s = l.Summary()
	if l.recorder != nil {
		if e := l.recorder.close(s); e != nil {
			err = errors.Join(err, fmt.Errorf("link: %w", e))
		}
	}
	for _, d := range l.devices {
		if d != nil {
			err = errors.Join(err, d.Close())
		}
	}
	for _, n := range l.spaces {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
	}
	if l.clock != nil {
		err = errors.Join(err, l.clock.Close())
	}
	return s, err
}

// String describes both sides in one line.
func (l *Link) String() string {
	var sides [2]string
	for i, d := range l.devices {
		s := &l.config.Sides[i]
		words := []string{d.Name()}
		for _, p := range s.Addrs {
			words = append(words, p.String())
		}
		if s.Netns != "" {
			words = append(words, "in "+s.Netns)
		}
		sides[i] = strings.Join(words, " ")
	}
	return sides[0] + " and " + sides[1] + " are joined"
}
