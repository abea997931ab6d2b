// Roundtrips derives the series of the study "roundtrips" from clones of the three repositories
// that its README names. Whatever is checked out there:
//
//	go run ./experiments/internal/roundtrips -etl DIR -three-bits DIR -5g DIR \
//		-out experiments/frontier/roundtrips/series.txt.gz
//
// It reads files by git alone, so a bare clone will do. The README has the rule of inclusion and
// the format. Of the files only durations are kept: no address, name or payload.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The rule of inclusion: the fewest round trips of a series, and how many of a longer one are kept.
const (
	least = 25
	most  = 1000
)

// series is the round trips of one connection or prober, in the order of their starts.
type series struct {
	stratum, site, source string
	unit                  time.Duration
	trips                 []trip
}

// trip is a round trip that begins so long after the end of the one before. Both are in units.
type trip struct{ idle, rtt int64 }

func main() {
	etl := flag.String("etl", "", "clone of m-lab/etl")
	bits := flag.String("three-bits", "", "clone of mami-project/three-bits-suffice")
	artifact := flag.String("5g", "", "clone of SIGCOMM21-5G/artifact")
	out := flag.String("out", "series.txt.gz", "file to write")
	flag.Parse()
	if err := run(*etl, *bits, *artifact, *out); err != nil {
		fmt.Fprintln(os.Stderr, "roundtrips:", err)
		os.Exit(1)
	}
}

func run(etl, bits, artifact, out string) error {
	var all []series
	var heads []string
	for _, from := range []struct {
		name, dir string
		read      func(dir string) ([]series, error)
	}{{"m-lab/etl", etl, readETL}, {"mami-project/three-bits-suffice", bits, readThreeBits},
		{"SIGCOMM21-5G/artifact", artifact, read5G}} {
		head, err := git(from.dir, "rev-parse", "HEAD")
		if err != nil {
			return err
		}
		found, err := from.read(from.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", from.name, err)
		}
		heads = append(heads, fmt.Sprintf("# %s %s", from.name, head))
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b series) int {
		return cmp.Or(strings.Compare(a.stratum, b.stratum), strings.Compare(a.source, b.source))
	})
	return write(out, heads, all)
}

// write writes the series that have enough round trips.
func write(name string, heads []string, all []series) error {
	var text bytes.Buffer
	z, err := gzip.NewWriterLevel(&text, gzip.BestCompression)
	if err != nil {
		return err
	}
	fmt.Fprintf(z, "# Round trips, derived from these commits: see README.md.\n%s", strings.Join(heads, ""))
	kept := map[string]int{}
	for _, s := range all {
		if len(s.trips) < least {
			fmt.Fprintf(os.Stderr, "left out: %s, %d round trips\n", s.source, len(s.trips))
			continue
		}
		kept[s.stratum]++
		fmt.Fprintf(z, "%s\t%s\t%s\t%v\t", s.stratum, s.site, s.source, s.unit)
		for i, t := range s.trips[:min(len(s.trips), most)] {
			if i > 0 {
				fmt.Fprint(z, " ")
			}
			if t.idle > 0 {
				fmt.Fprintf(z, "%d+", t.idle)
			}
			fmt.Fprint(z, t.rtt)
		}
		fmt.Fprintln(z)
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "kept: %v\n", kept)
	return os.WriteFile(name, text.Bytes(), 0o644)
}

// git returns what a command of git prints.
func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git -C %s %s: %w", dir, strings.Join(args, " "), err)
	}
	return string(out), nil
}

// files returns the paths of the newest commit below a folder that match a pattern.
func files(dir, folder, pattern string) ([]string, error) {
	list, err := git(dir, "ls-tree", "-r", "--name-only", "HEAD", folder)
	names := strings.Fields(list)
	match := regexp.MustCompile(pattern)
	return slices.DeleteFunc(names, func(name string) bool { return !match.MatchString(name) }), err
}

// readETL reads the captures of all commits, each once. They were made at servers of NDT.
func readETL(dir string) (all []series, err error) {
	objects, err := git(dir, "rev-list", "--all", "--objects", "--missing=allow-any")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for line := range strings.Lines(objects) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		base := strings.TrimSuffix(path.Base(name), ".gz")
		if !strings.HasSuffix(base, ".pcap") || seen[base] {
			continue
		}
		seen[base] = true
		text, err := git(dir, "cat-file", "blob", hash)
		if err != nil {
			return nil, err
		}
		found, err := captured(text, name, server)
		if err != nil {
			return nil, err
		}
		for _, trips := range found {
			machine, _, _ := strings.Cut(base, "_")
			all = append(all, series{"ndt", machine, "m-lab/etl/" + name, fineUnit, trips})
		}
	}
	return all, nil
}

// fields of the CSV files of three-bits-suffice.
const (
	bitsHost  = 1
	bitsRTT   = 5 // of one timestamp at a time, so one for each round trip
	bitsNew   = 6
	bitsTotal = 12
)

// readThreeBits reads the round trips that an observer on the path saw by timestamps of the
// server, which sends. The next one begins where one ends. The first two lines of a file are left
// out, as by its authors' tcp/scripts/analyze_vpp.py: they are of the handshake.
func readThreeBits(dir string) (all []series, err error) {
	names, err := files(dir, "tcp/data", `\.csv$`)
	if err != nil {
		return nil, err
	}
	strata := map[string]string{"01_do-vpp-do": "cloud", "02_wired-vpp-do": "wired", "03_wifi-vpp-do": "wifi"}
	for _, name := range names {
		text, err := git(dir, "cat-file", "blob", "HEAD:"+name)
		if err != nil {
			return nil, err
		}
		site := strings.TrimSuffix(path.Base(name), ".csv") // a pair of machines in the cloud
		if at := strings.LastIndexByte(site, '-'); at > 0 {
			site = site[:at] // an access network, from which several servers were asked
		}
		s := series{strata[path.Base(path.Dir(name))], site, "mami-project/three-bits-suffice/" + name,
			100 * time.Microsecond, nil}
		ignored := 2
		for line := range strings.Lines(text) {
			f := strings.Split(strings.TrimSpace(line), ",")
			if len(f) != bitsTotal || f[0] == "time" {
				continue
			}
			if ignored--; ignored >= 0 || f[bitsHost] != "server" || f[bitsNew] != "1" {
				continue
			}
			if err := s.add(0, f[bitsRTT], time.Second); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// add adds a round trip from its text, a number of scale. None of 0 or less is one.
func (s *series) add(idle time.Duration, text string, scale time.Duration) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return err
	}
	if rtt := int64(x*float64(scale/s.unit) + 0.5); rtt > 0 {
		s.trips = append(s.trips, trip{int64(idle / s.unit), rtt})
	}
	return nil
}

// read5G reads probes of the radio's state, one after the other with an idle time between.
func read5G(dir string) (all []series, err error) {
	names, err := files(dir, "RRC-Probe/data", `\.csv$`)
	if err != nil {
		return nil, err
	}
	const interval, rtt = 2, 3
	for _, name := range names {
		text, err := git(dir, "cat-file", "blob", "HEAD:"+name)
		if err != nil {
			return nil, err
		}
		s := series{"5g", strings.TrimSuffix(path.Base(name), ".csv"), "SIGCOMM21-5G/artifact/" + name, time.Millisecond, nil}
		for i, line := range slices.Collect(strings.Lines(text)) {
			f := strings.Split(line, ",")
			if i == 0 || len(f) <= rtt {
				continue
			}
			if f[0] == "4G-LTE" {
				s.stratum = "4g"
			}
			idle, err := strconv.ParseFloat(f[interval], 64)
			if err == nil {
				err = s.add(time.Duration(idle*1000+0.5)*time.Millisecond, f[rtt], time.Millisecond)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, line %d: %w", name, i+1, err)
			}
		}
		all = append(all, s)
	}
	return all, nil
}
