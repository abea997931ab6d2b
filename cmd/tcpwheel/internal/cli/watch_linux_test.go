package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/watch"
	"tcpwheel/tun/netns"
)

// onLoopback listens in a namespace of its own, sends n packets of the load, each changed by change
// if that is not nil, and watches them. Only then does it begin to read if late is true. It returns
// how many losses there were.
func onLoopback(t *testing.T, o watch.Options, w *watch.Watcher, n int, late bool, change func([]byte) []byte) (losses int) {
	t.Helper()
	ns := netns.Test(t)
	if err := netns.LoopbackUp(ns.Path()); err != nil {
		t.Fatal(err)
	}
	var l *watch.Listener
	var send func([]byte) error
	if err := ns.Do(func() (err error) {
		if l, err = watch.Listen("lo", o); err == nil {
			send, err = sendToLoopback()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	load := &load{rng: rand.New(rand.NewPCG(1, 2))}
	sendAll := func() {
		for i := range n {
			f := load.next()
			if change != nil {
				f = change(f)
			}
			if err := send(f); err != nil {
				t.Error(err)
				return
			}
			if i%16 == 15 && !late {
				time.Sleep(200 * time.Microsecond)
			}
		}
	}
	if late {
		sendAll()
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, w) }()
	if !late {
		sendAll()
	}
	time.Sleep(300 * time.Millisecond) // until the last block is old enough
	stop()
	if err := errors.Join(<-ended, w.Close()); err != nil {
		t.Fatal(err)
	}
	return load.losses
}

// TestWatchFiltersInTheKernel: packets of other ports and hosts do not reach the program.
func TestWatchFiltersInTheKernel(t *testing.T) {
	const n = 2000
	for _, test := range []struct {
		host, port string
		want       int64
	}{{"10.99.0.0/16", "443", n}, {"10.99.2.1", "444", 0}, {"10.98.0.0/16", "443", 0}} {
		f, err := watch.ParseFilter([]string{test.host}, []string{test.port})
		if err != nil {
			t.Fatal(err)
		}
		w := watch.New(watch.Config{}) // without the filter, which only the kernel has
		onLoopback(t, watch.Options{Filter: f}, w, n, false, nil)
		if s := w.Snapshot(); s.Packets+int64(s.KernelDropped) != test.want {
			t.Errorf("host %s, port %s: %d packets, want %d", test.host, test.port, s.Packets, test.want)
		}
	}
}

// TestWatchPutsTagsBack: the kernel takes VLAN tags off. They are in the recorded packets.
func TestWatchPutsTagsBack(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tags.pcapng")
	r, err := watch.Record(name, watch.Rotation{Files: 1, Size: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	w := watch.New(watch.Config{Recorder: r})
	losses := onLoopback(t, watch.Options{}, w, 4000, false, func(f []byte) []byte {
		return append(append(append([]byte{}, f[:12]...), 0x81, 0, 0x20, 5), f[12:]...)
	})
	if s := w.Snapshot(); s.Packets != 4000 || s.Total.All.Episodes == 0 || s.Total.All.Episodes > losses {
		t.Errorf("%d packets, %d episodes, want 4000, up to %d", s.Packets, s.Total.All.Episodes, losses)
	}
	in, err := capture.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for n := 0; ; n++ {
		p, err := in.Next()
		if err != nil {
			if n == 0 || err != io.EOF {
				t.Errorf("%d packets, %v", n, err)
			}
			return
		}
		data, _, _ := in.Frame()
		if p.Path == 0 || data[12] != 0x81 || data[14] != 0x20 || data[15] != 5 {
			t.Fatalf("packet %d begins with % x, want a tag of VLAN 5, priority 1", p.Number, data[:18])
		}
	}
}

// TestWatchCountsDrops overflows a small ring before it is read. Every packet is watched or counted
// as dropped, and no episode is certain while packets were dropped.
func TestWatchCountsDrops(t *testing.T) {
	const n = 40_000
	certain, uncertain := 0, 0
	w := watch.New(watch.Config{Episode: func(e *watch.Episode) {
		if e.Uncertain == "dropped" {
			uncertain++
		} else {
			certain++
		}
	}})
	onLoopback(t, watch.Options{Ring: 1 << 20}, w, n, true, nil)
	s := w.Snapshot()
	if s.Packets+int64(s.KernelDropped) != n || s.KernelDropped < n/2 {
		t.Errorf("%d packets and %d dropped, want %d together, and most dropped", s.Packets, s.KernelDropped, n)
	}
	if certain > 0 || uncertain == 0 || s.Total.All.Episodes > 0 || s.Uncertain != uncertain {
		t.Errorf("%d episodes are certain, %d not; %d are counted", certain, uncertain, s.Total.All.Episodes)
	}
}

// TestWatchSuperSegments sends a file over the loopback device, whose packets hold many segments:
// all bytes are seen once, and no loss. On a busy machine the kernel may retransmit, so there are
// more tries than one.
func TestWatchSuperSegments(t *testing.T) {
	const tries = 10
	for range tries {
		if s, retransmissions := superSegments(t); retransmissions == 0 {
			const size = superSize
			if s.Bytes != size || s.Total.All.Episodes > 0 || s.Packets > size/3000 {
				t.Errorf("%d bytes in %d packets, %d episodes, want %d bytes in super-segments, no episode",
					s.Bytes, s.Packets, s.Total.All.Episodes, size)
			}
			return
		}
	}
	t.Skipf("the kernel retransmitted in each of %d tries: the machine is too busy", tries)
}

const superSize = 4 << 20

// superSegments watches a transfer of superSize bytes over the loopback device of a new namespace.
// It also returns how many segments the kernel retransmitted.
func superSegments(t *testing.T) (s watch.Snapshot, retransmissions uint64) {
	ns := netns.Test(t)
	if err := netns.LoopbackUp(ns.Path()); err != nil {
		t.Fatal(err)
	}
	w := watch.New(watch.Config{})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	if err := ns.Do(func() error {
		l, err := watch.Listen("lo", watch.Options{})
		if err != nil {
			return err
		}
		go func() { ended <- errors.Join(l.Run(ctx, w), l.Close()) }()
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		go func() {
			if c, err := server.Accept(); err == nil {
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
			server.Close()
		}()
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			return err
		}
		_, err = c.Write(make([]byte, superSize))
		err = errors.Join(err, c.(*net.TCPConn).CloseWrite(), readEnd(c), c.Close())
		counters, counted := netns.ReadCounters()
		retransmissions = counters["RetransSegs"]
		return errors.Join(err, counted)
	}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	stop()
	if err := errors.Join(<-ended, w.Close()); err != nil {
		t.Fatal(err)
	}
	return w.Snapshot(), retransmissions
}

// readEnd reads until the peer closes.
func readEnd(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// TestWatchLoad runs the command at 10,000 packets a second and checks what it costs, and that
// packets and losses are counted.
func TestWatchLoad(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	helper := fmt.Sprintf("%s -test.run '^TestLoadHelper$'", os.Args[0])
	const rate, span = 10_000, 10
	script := fmt.Sprintf("%s='watch lo --json --duration %ds' %s & sleep 1; %s=%d %s=%d nice -n 19 %s; wait", loadArgs, span+3, helper,
		loadRate, rate, loadSpan, span, helper)
	var out, talk bytes.Buffer
	if status := run(linkArgs(t, "--", "/bin/sh", "-c", script), strings.NewReader(""), &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s%s", status, &out, &talk)
	}
	var (
		user, system, perSecond float64
		sent, losses, made, kB  int
		summary                 watch.Snapshot
	)
	for line := range strings.SplitSeq(out.String(), "\n") {
		_, _ = fmt.Sscanf(line, "used %f s user, %f s system, %d kB at most", &user, &system, &kB)
		_, _ = fmt.Sscanf(line, "sent %d packets, %f a second, %d losses, %d connections", &sent, &perSecond, &losses, &made)
		if strings.HasPrefix(line, `{"type":"summary"`) {
			if err := json.Unmarshal([]byte(line), &summary); err != nil {
				t.Fatal(err)
			}
		}
	}
	share := 100 * (user + system) / float64(span+3)
	t.Logf("%d packets at %.0f a second, %d losses of %d connections; %d dropped; %.1f %% of a core, %d kB", sent, perSecond, losses, made,
		summary.KernelDropped, share, kB)
	const strays = 10 // the kernel may send some of its own
	if n := summary.Packets + int64(summary.KernelDropped) - int64(sent); sent == 0 || n < 0 || n > strays {
		t.Errorf("%d packets watched and %d dropped, want %d", summary.Packets, summary.KernelDropped, sent)
	}
	if got := summary.Total.All.Episodes + summary.Uncertain; got > losses || got < losses-20 {
		t.Errorf("%d episodes, want %d less the ones that did not end", got, losses)
	}
	if perSecond > 0.9*rate && share > 5 {
		t.Errorf("%.1f %% of a core at %.0f packets a second, want 5 %% at most", share, perSecond)
	}
}
