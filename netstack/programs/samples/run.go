//go:build linux

package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

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
	s      Scenario
	dir    string
	raw    string // holds the files before they are compressed
	port   uint16
	spaces []*tun.Namespace // a, the router if there is one, and b
	links  []*link.Link
	trace  *tracing
	before [2]map[string]uint64
}

// Run runs the scenario and writes the files to the directory, which it makes. It takes as long as
// the turns do. It overwrites existing files.
func Run(ctx context.Context, s Scenario, dir string) (err error) {
	if err := s.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	w := &world{s: s, dir: dir, port: nextPort()}
	if w.raw, err = os.MkdirTemp("", "tcpwheel-kernels-"); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	defer os.RemoveAll(w.raw)
	err = w.setUp()
	if err == nil {
		err = w.happen(ctx)
	}
	kernel, e := w.truth()
	if err == nil {
		err = e
	}
	if e := w.tearDown(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("samples: scenario %q: %w", s.Name, err)
	}
	return w.write(kernel)
}

var ports atomic.Uint32

// nextPort returns a port that no other run of this process has, and probably none of another
// process: the trace sees all namespaces.
func nextPort() uint16 {
	return uint16(20_000 + (uint32(os.Getpid())*61+ports.Add(1))%10_000)
}

// side returns the namespace of a or b.
func (w *world) side(i int) *tun.Namespace {
	if i == 0 {
		return w.spaces[0]
	}
	return w.spaces[len(w.spaces)-1]
}

func (w *world) addrs() *[4]netip.Prefix {
	if w.s.IPv6 {
		return &addrs6
	}
	return &addrs4
}

func (w *world) setUp() (err error) {
	n := 2
	if w.s.Far != nil {
		n = 3
	}
	for range n {
		space, err := tun.NewNamespace()
		if err != nil {
			return err
		}
		w.spaces = append(w.spaces, space)
	}
	a := w.addrs()
	if w.s.Far == nil {
		err = w.join("near", w.s.Near, [2]int{0, 1}, [2]netip.Prefix{a[0], a[3]}, [2]string{"a", "b"})
	} else {
		err = w.join("near", w.s.Near, [2]int{0, 1}, [2]netip.Prefix{a[0], a[1]}, [2]string{"a", "middle"})
		if err == nil {
			err = w.join("far", *w.s.Far, [2]int{1, 2}, [2]netip.Prefix{a[2], a[3]}, [2]string{"", "b"})
		}
		if err == nil {
			err = w.route()
		}
	}
	if err != nil {
		return err
	}
	for i := range 2 {
		err := w.side(i).Do(func() (err error) {
			values := maps.Clone(netns.NoMetricsSave)
			for name, value := range w.s.Sysctls {
				values["net/ipv4/"+filepath.Base(name)] = value
			}
			if err := netns.WriteSysctls(values); err != nil {
				return err
			}
			w.before[i], err = readCounters()
			return err
		})
		if err != nil {
			return err
		}
	}
	w.trace, err = startTracing(w.port)
	return err
}

// join makes a link between two of the namespaces.
func (w *world) join(name string, p Path, spaces [2]int, addrs [2]netip.Prefix, captures [2]string) error {
	c := link.Config{
		Links: [2]sim.LinkConfig{p.AToB, p.BToA}, Seed: w.s.Seed + uint64(len(w.links)), Log: filepath.Join(w.raw, name+".jsonl"),
		Realtime: link.CheckRealtime() == nil,
	}
	for i := range c.Sides {
		c.Sides[i] = link.Side{Device: name + "%d", Netns: w.spaces[spaces[i]].Path(), Addrs: addrs[i : i+1]}
		if captures[i] != "" {
			c.Captures[i] = filepath.Join(w.raw, captures[i]+".pcapng")
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
	a := w.addrs()
	err := errors.Join(w.links[0].Device(0).AddRoute(a[3].Masked()), w.links[1].Device(1).AddRoute(a[0].Masked()))
	if err != nil {
		return err
	}
	return w.spaces[1].Do(func() error {
		if w.s.IPv6 {
			return netns.WriteSysctls(map[string]string{"net/ipv6/conf/all/forwarding": "1"})
		}
		return netns.WriteSysctls(map[string]string{"net/ipv4/ip_forward": "1"})
	})
}

// Counters are the kernel's counters of an end, over the run, with the names of /proc/net/netstat
// and snmp.
type Counters struct {
	Record   string            `json:"record"` // "counters"
	Side     string            `json:"side"`
	Counters map[string]uint64 `json:"counters"`
}

// kernelRecord is the first line of kernel.jsonl.
type kernelRecord struct {
	Record  string            `json:"record"` // "kernel"
	Release string            `json:"release"`
	Control string            `json:"control"` // congestion control
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// truth returns the lines of kernel.jsonl.
func (w *world) truth() (lines []any, err error) {
	if w.trace == nil {
		return nil, nil
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, err
	}
	release := unix.ByteSliceToString(name.Release[:])
	version, _, _ := strings.Cut(release, "-") // what comes behind is the builder's
	lines = append(lines, kernelRecord{"kernel", version, w.s.control(), w.s.Sysctls})
	all, err := w.trace.read()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		lines = append(lines, r)
	}
	for i, side := range [2]string{"a", "b"} {
		c := Counters{"counters", side, nil}
		err := w.side(i).Do(func() (err error) {
			c.Counters, err = readCounters()
			return err
		})
		if err != nil {
			return nil, err
		}
		for name, n := range w.before[i] {
			if c.Counters[name] -= n; c.Counters[name] == 0 {
				delete(c.Counters, name)
			}
		}
		lines = append(lines, c)
	}
	return lines, nil
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

// write compresses the files into the directory.
func (w *world) write(kernel []any) error {
	for from, to := range map[string]string{
		"a.pcapng": "a.pcapng.gz", "b.pcapng": "b.pcapng.gz", "middle.pcapng": "middle.pcapng.gz",
		"near.jsonl": "fates.jsonl.gz", "far.jsonl": "far-fates.jsonl.gz",
	} {
		in, err := os.Open(filepath.Join(w.raw, from))
		if errors.Is(err, os.ErrNotExist) && w.s.Far == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("samples: %w", err)
		}
		err = compress(filepath.Join(w.dir, to), func(out io.Writer) error {
			_, err := io.Copy(out, in)
			return err
		})
		in.Close()
		if err != nil {
			return err
		}
	}
	return compress(filepath.Join(w.dir, "kernel.jsonl.gz"), func(out io.Writer) error {
		enc := json.NewEncoder(out)
		for _, line := range kernel {
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// compress makes a compressed file of what write writes.
func compress(name string, write func(io.Writer) error) (err error) {
	out, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err == nil {
		err = errors.Join(write(z), z.Close())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("samples: %w", err)
	}
	return nil
}
