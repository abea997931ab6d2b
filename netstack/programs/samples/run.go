//go:build linux

package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/tun/link"
	"tcpwheel/tun/netns"
)

// Addresses of a, of the router's two sides, and of b.
var (
	addrs4 = [4]netip.Prefix{
		netip.MustParsePrefix("10.77.1.1/24"), netip.MustParsePrefix("10.77.1.254/24"),
		netip.MustParsePrefix("10.77.2.254/24"), netip.MustParsePrefix("10.77.2.1/24"),
	}
	addrs6 = [4]netip.Prefix{
		netip.MustParsePrefix("fd77:1::1/64"), netip.MustParsePrefix("fd77:1::254/64"),
		netip.MustParsePrefix("fd77:2::254/64"), netip.MustParsePrefix("fd77:2::1/64"),
	}
)

// world is a running scenario.
type world struct {
	scenario
	dir    string // of the raw files
	addrs  [4]netip.Prefix
	spaces []*tun.Namespace // a, the router if there is one, and b
	links  []*link.Link
	trace  *tracing
}

// run runs the scenario and writes the files to the directory, which it makes. It overwrites
// existing files.
func run(s scenario, dir string) (err error) {
	w := &world{scenario: s, addrs: addrs4}
	if s.IPv6 {
		w.addrs = addrs6
	}
	if w.dir, err = os.MkdirTemp("", "tcpwheel-samples-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.dir)
	if err = w.setUp(); err == nil {
		err = w.talk()
	}
	if err == nil {
		err = w.writeTruth()
	}
	if err = errors.Join(err, w.tearDown(), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(w.dir, "*"))
	for _, file := range files {
		err = errors.Join(err, compress(file, filepath.Join(dir, filepath.Base(file)+".gz")))
	}
	return err
}

// end returns the namespace of a or b.
func (w *world) end(i int) *tun.Namespace { return w.spaces[i*(len(w.spaces)-1)] }

func (w *world) setUp() (err error) {
	n := 2
	if w.Far != nil {
		n = 3
	}
	for range n {
		space, err := tun.NewNamespace()
		if err != nil {
			return err
		}
		w.spaces = append(w.spaces, space)
	}
	a := &w.addrs
	if w.Far == nil {
		err = w.join("fates", w.Near, 0, [2]netip.Prefix{a[0], a[3]}, [2]string{"a", "b"})
	} else {
		err = errors.Join(
			w.join("fates", w.Near, 0, [2]netip.Prefix{a[0], a[1]}, [2]string{"a", "middle"}),
			w.join("far-fates", *w.Far, 1, [2]netip.Prefix{a[2], a[3]}, [2]string{"", "b"}))
		if err == nil {
			err = w.route()
		}
	}
	values := maps.Clone(netns.NoMetricsSave)
	for name, value := range w.Sysctls {
		values["net/ipv4/"+filepath.Base(name)] = value
	}
	for i := 0; i < 2 && err == nil; i++ {
		err = w.end(i).Do(func() error { return netns.WriteSysctls(values) })
	}
	if err == nil {
		w.trace, err = startTracing()
	}
	return err
}

// join makes a link between a namespace and the next one.
func (w *world) join(log string, p path, from int, addrs [2]netip.Prefix, captures [2]string) error {
	c := link.Config{
		Links: [2]sim.LinkConfig{p.AToB, p.BToA}, Seed: w.Seed + uint64(len(w.links)), Log: filepath.Join(w.dir, log+".jsonl"),
		Realtime: link.CheckRealtime() == nil,
	}
	for i := range c.Sides {
		c.Sides[i] = link.Side{Device: log + "%d", Netns: w.spaces[from+i].Path(), Addrs: addrs[i : i+1]}
		if captures[i] != "" {
			c.Captures[i] = filepath.Join(w.dir, captures[i]+".pcapng")
		}
	}
	l, err := link.Start(c)
	if err == nil {
		w.links = append(w.links, l)
	}
	return err
}

// route makes the router forward and adds routes at both ends.
func (w *world) route() error {
	forward := "net/ipv4/ip_forward"
	if w.IPv6 {
		forward = "net/ipv6/conf/all/forwarding"
	}
	return errors.Join(
		w.links[0].Device(0).AddRoute(w.addrs[3].Masked()), w.links[1].Device(1).AddRoute(w.addrs[0].Masked()),
		w.spaces[1].Do(func() error { return netns.WriteSysctls(map[string]string{forward: "1"}) }))
}

// writeTruth writes kernel.jsonl: the kernel, its retransmissions, and both ends' counters above 0.
func (w *world) writeTruth() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	version, _, _ := strings.Cut(unix.ByteSliceToString(name.Release[:]), "-") // what comes behind is the builder's
	lines := []any{map[string]any{"record": "kernel", "release": version, "sysctls": w.Sysctls}}
	all, err := w.trace.read()
	if err != nil {
		return err
	}
	for _, r := range all {
		lines = append(lines, r)
	}
	for i, side := range []string{"a", "b"} {
		var counters map[string]uint64
		if err := w.end(i).Do(func() (err error) {
			counters, err = netns.ReadCounters()
			return err
		}); err != nil {
			return err
		}
		lines = append(lines, map[string]any{"record": "counters", "side": side, "counters": counters})
	}
	out, err := os.Create(filepath.Join(w.dir, "kernel.jsonl"))
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	for _, line := range lines {
		err = errors.Join(err, enc.Encode(line))
	}
	return errors.Join(err, out.Close())
}

func (w *world) tearDown() (err error) {
	if w.trace != nil {
		err = w.trace.stop()
	}
	for _, l := range w.links {
		_, e := l.Close()
		err = errors.Join(err, e)
	}
	for _, n := range w.spaces {
		err = errors.Join(err, n.Close())
	}
	return err
}

// compress makes a compressed copy of a file.
func compress(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err == nil {
		_, err = io.Copy(z, in)
		err = errors.Join(err, z.Close())
	}
	return errors.Join(err, out.Close())
}
