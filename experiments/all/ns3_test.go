package all

import (
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var update = flag.Bool("update", false, "rewrite the tables of experiments/ns3/tables.md")

const ns3Folder = "../ns3/"

// TestNS3Tables holds experiments/ns3/tables.md against its committed numbers.
func TestNS3Tables(t *testing.T) {
	const begin, end = "<!-- Written by 'go test ./experiments/all -run NS3 -update': do not edit. -->\n",
		"<!-- End of the written part. -->"
	text, err := os.ReadFile(ns3Folder + "tables.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("tables.md has no place for the tables, want %s and %s", begin, end)
	}
	_, err = os.Stat(ns3Folder + "numbers/ns3-incast.csv")
	c := comparison{t: t, raw: *update && err == nil, files: map[string][]map[string]string{},
		figures: map[string]map[string]stat.Interval{}}
	if !c.raw {
		c.readSummary()
	}
	want := head + begin + c.tables() + end + tail
	switch {
	case *update:
		if c.raw {
			c.writeSummary()
		}
		if err := os.WriteFile(ns3Folder+"tables.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(text):
		t.Error("tables.md does not show the committed numbers: run go test ./experiments/all -run NS3 -update")
	}
}

// TestNS3Parameters checks that both simulators ran the parameters that the studies' plans have
// now, or fewer points of them.
func TestNS3Parameters(t *testing.T) {
	for _, name := range []string{"incast", "shrew", "vegas"} {
		text, err := os.ReadFile(ns3Folder + "numbers/ns3-" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) < 5 || !strings.HasPrefix(lines[0], "# ns-3 3.") {
			t.Fatalf("%s: %q, want the version, the command and the parameters", name, text)
		}
		own, _, _ := strings.Cut(Find(name).Plan(), "\nquick:")
		for _, line := range lines[1:] {
			key, value, _ := strings.Cut(line, ": ")
			have, found := planLine(own, key)
			switch {
			case !found:
				t.Errorf("%s: the plan has no %s any more", name, key)
			case strings.HasPrefix(value, "["):
				for _, member := range strings.Split(strings.Trim(value, "[]"), ", ") {
					if !slices.Contains(strings.Split(strings.Trim(have, "[]"), ", "), member) {
						t.Errorf("%s: %s has %s, want one of the plan's %s: run experiments/ns3/run", name, key,
							member, have)
					}
				}
			case have != value && key != "seeds":
				t.Errorf("%s: %s is %s, want the plan's %s: run experiments/ns3/run", name, key, value, have)
			}
		}
	}
	// Timers that the programs have and do not read.
	for study, all := range map[string][]string{
		"incast": {`classic: "rfc6298@exact control=newreno"`},
		"vegas":  {"coarse: bsd delack=off control=newreno -tlp -rack -frto -sack -timestamps"},
		"shrew": {"rfc6298@exact floor=1s control=newreno delack=off",
			"rfc6298@exact floor=200ms control=newreno delack=off",
			"rfc6298@exact floor=1ms control=newreno delack=off"},
	} {
		for _, text := range all {
			if !strings.Contains(Find(study).Plan(), text) {
				t.Errorf("%s: the plan no longer has %s", study, text)
			}
		}
	}
}

// planLine returns the text of a key of a plan.
func planLine(plan, key string) (value string, ok bool) {
	_, rest, ok := strings.Cut(plan, "\n"+key+": ")
	value, _, _ = strings.Cut(rest, "\n")
	return value, ok
}

// comparison has the figures of both simulators: those of summary.csv, or of the numbers that
// experiments/ns3/run leaves.
type comparison struct {
	t       *testing.T
	raw     bool // figures come from the numbers
	files   map[string][]map[string]string
	figures map[string]map[string]stat.Interval // by figure and point
	order   [][2]string                         // of both, as they were asked for
}

// figure returns a figure of the summary, which of makes of the numbers.
func (c *comparison) figure(name, point string, of func() stat.Interval) stat.Interval {
	c.t.Helper()
	in, ok := c.figures[name][point]
	if !ok && c.raw {
		in, ok = of(), true
		if c.figures[name] == nil {
			c.figures[name] = map[string]stat.Interval{}
		}
		c.figures[name][point], c.order = in, append(c.order, [2]string{name, point})
	}
	if !ok {
		c.t.Fatalf("summary.csv has no %s at %s: run experiments/ns3/run and go test ./experiments/all -run NS3 -update",
			name,
			point)
	}
	return in
}

// summaryName has a line for each figure: its name, then each point with the value and its interval.
const summaryName = ns3Folder + "summary.csv"

func (c *comparison) readSummary() {
	text, err := os.ReadFile(summaryName)
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		all := map[string]stat.Interval{}
		for _, cell := range cells[1:] {
			var in stat.Interval
			var point string
			if _, err := fmt.Sscan(cell, &point, &in.Value, &in.Lo, &in.Hi); err != nil {
				c.t.Fatalf("%s: %q: %v", summaryName, cell, err)
			}
			all[point] = in
		}
		c.figures[cells[0]] = all
	}
}

func (c *comparison) writeSummary() {
	var b strings.Builder
	for _, g := range judge.By(c.order, func(o *[2]string) string { return o[0] }) {
		b.WriteString(g.Key)
		for _, o := range g.Rows {
			in := c.figures[o[0]][o[1]]
			fmt.Fprintf(&b, ",%s %.9g %.9g %.9g", o[1], in.Value, in.Lo, in.Hi)
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(summaryName, []byte(b.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// rows returns the rows of a file whose columns have the values of where, as "a=1 b=2".
func (c *comparison) rows(file string, where ...string) (all []map[string]string) {
	c.t.Helper()
	if c.files[file] == nil {
		f, err := os.Open(filepath.Join(ns3Folder, "numbers", file+".csv"))
		if err != nil {
			c.t.Fatal(err)
		}
		defer f.Close()
		lines, err := csv.NewReader(f).ReadAll()
		if err != nil {
			c.t.Fatal(err)
		}
		for _, values := range lines[1:] {
			row := map[string]string{}
			for i, name := range lines[0] {
				row[name] = values[i]
			}
			c.files[file] = append(c.files[file], row)
		}
	}
	for _, row := range c.files[file] {
		if !slices.ContainsFunc(where, func(w string) bool { k, v, _ := strings.Cut(w, "="); return row[k] != v }) {
			all = append(all, row)
		}
	}
	if len(all) == 0 {
		c.t.Fatalf("%s.csv has no row with %v", file, where)
	}
	return all
}

// number returns a column of a row.
func (c *comparison) number(row map[string]string, column string) float64 {
	x, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		c.t.Fatalf("%s: %v", column, err)
	}
	return x
}

// bySeed returns the mean over rows of each seed, with the interval over seeds.
func (c *comparison) bySeed(rows []map[string]string, value func(map[string]string) float64) stat.Interval {
	return stat.BootstrapMean(judge.Values(judge.By(rows,
		func(r *map[string]string) string { return (*r)["seed"] }),
		func(g *judge.Group[string, map[string]string]) float64 {
			return stat.Mean(judge.Values(g.Rows, func(r *map[string]string) float64 { return value(*r) }))
		}), 1)
}

// relation is the rule: two means agree if the 90 % interval of their difference lies within the
// margin (two one-sided tests at 5 %), and differ if it lies beyond it. In between more seeds must
// decide. The margin is 10 % of ours, and least in the figure's unit.
func relation(ours, other stat.Interval, least float64) string {
	margin := max(0.1*math.Abs(ours.Value), least)
	half := 1.645 / (2 * 1.96) * math.Hypot(ours.Hi-ours.Lo, other.Hi-other.Lo)
	switch d := math.Abs(other.Value - ours.Value); {
	case d+half <= margin:
		return "agree"
	case d-half > margin:
		return "differ"
	}
	return "open"
}

// The least margins: of shares in %, of servers, and of times, which have 10 % alone.
const (
	percent    = 2.0
	fewServers = 2.0
	noLeast    = 0.0
)

func shown(in stat.Interval) string {
	return fmt.Sprintf("%s (%s to %s)", experiments.Number(in.Value), experiments.Number(in.Lo),
		experiments.Number(in.Hi))
}

// column is the results of one simulator by point.
type column func(point string) stat.Interval

// count returns how many points agree, and how many are open.
func count(points []string, ours, other column, least float64) string {
	n := map[string]int{}
	for _, p := range points {
		n[relation(ours(p), other(p), least)]++
	}
	return fmt.Sprintf("%d, %d open", n["agree"], n["open"])
}

func (c *comparison) tables() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "\nThe figures of the studies' claims.\n\n| figure | ours | ns-3 | | ns-3 with changed rules | "+
		"|\n|---|---:|---:|---|---:|---|\n")
	c.incastClaims(b)
	c.shrewClaims(b)
	c.vegasClaims(b)
	fmt.Fprintf(b, "\nPoints of the figures of `incast` that agree, of %d numbers of servers.\n\n| SACK | floor | "+
		"ACKs wait | time of a query, ns-3 | changed | queries with a timeout, ns-3 | changed "+
		"|\n|---|---|---|---:|---:|---:|---:|\n", len(incastServers))
	c.incastFigures(b)
	fmt.Fprintf(b, "\nPoints of the figures of `shrew` that agree, of %d periods, with pulses of 100 ms.\n\n| floor | "+
		"ns-3 | changed |\n|---|---:|---:|\n", len(shrewPeriods(c)))
	for _, floor := range []string{"1s", "200ms", "1ms"} {
		ours, other := c.shrewOurs(floor, 100), c.shrewOther(floor, 100, "0")
		fmt.Fprintf(b, "| %s | %s | %s |\n", floor, count(shrewPeriods(c), ours, other, percent),
			count(shrewPeriods(c), ours, c.shrewOther(floor, 100, "1"), percent))
	}
	fmt.Fprintf(b, "\nMean waits of `vegas`, in ms, at a round trip of 100 ms, and how many of six round trips "+
		"agree.\n\n| "+
		"timers | segment lost | ours | ns-3 | agree | changed | agree |\n|---|---|---:|---:|---:|---:|---:|\n")
	c.vegasFigures(b)
	return b.String() + "\n"
}

var incastServers = []string{"1", "4", "8", "10", "12", "16", "20", "30", "40"}

func perQuery(c *comparison, name string, scale float64) func(map[string]string) float64 {
	return func(r map[string]string) float64 { return scale * c.number(r, name) / c.number(r, "queries") }
}

// incast returns the rows of either simulator. changed is "" for ours.
func (c *comparison) incast(sack bool, floor, delack, changed string) (string, []string) {
	if changed == "" {
		name := map[bool]string{true: "", false: "-timestamps -sack "}[sack]
		return "ours-incast", []string{"timers=" + name + "floor=" + floor + " delack=" + delack}
	}
	ns := map[string]string{"300ms": "300000000", "10ms": "10000000", "1ms": "1000000", "40ms": "40000000", "off": "0"}
	on := map[bool]string{true: "1", false: "0"}[sack]
	return "ns3-incast", []string{"sack=" + on, "changed=" + changed, "floor_ns=" + ns[floor], "delack_ns=" +
		ns[delack]}
}

func (c *comparison) incastColumn(what string, sack bool, floor, delack, changed string,
	value func(map[string]string) float64) column {
	return func(servers string) stat.Interval {
		name := fmt.Sprintf("incast %s sack=%t floor=%s delack=%s%s", what, sack, floor, delack, side(changed))
		return c.figure(name, servers, func() stat.Interval {
			file, where := c.incast(sack, floor, delack, changed)
			return c.bySeed(c.rows(file, append(where, "servers="+servers)...), value)
		})
	}
}

// side names the simulator of a figure: "" is ours, and otherwise ns-3 with changed rules or not.
func side(changed string) string {
	return map[string]string{"": " ours", "0": " ns-3", "1": " changed"}[changed]
}

func (c *comparison) incastFigures(b *strings.Builder) {
	for _, sack := range []bool{true, false} {
		for _, delack := range []string{"40ms", "off"} {
			for _, floor := range []string{"300ms", "10ms", "1ms"} {
				fmt.Fprintf(b, "| %s | %s | %s |", map[bool]string{true: "on", false: "off"}[sack], floor, delack)
				for _, figure := range []struct {
					what  string
					value func(map[string]string) float64
					least float64
				}{{"time", perQuery(c, "took_ns", 1e-6), noLeast}, {"timed", perQuery(c, "timed", 100), percent}} {
					of := func(changed string) column {
						return c.incastColumn(figure.what, sack, floor, delack, changed, figure.value)
					}
					for _, changed := range []string{"0", "1"} {
						fmt.Fprintf(b, " %s |", count(incastServers, of(""), of(changed), figure.least))
					}
				}
				fmt.Fprintln(b)
			}
		}
	}
}

// relative returns the goodput at some servers in % of that of one.
func (c *comparison) relative(floor, delack, changed, servers string) stat.Interval {
	took := c.incastColumn("time", true, floor, delack, changed, perQuery(c, "took_ns", 1e-6))
	one, many := took("1").Value, took(servers)
	return stat.Interval{Value: 100 * one / many.Value, Lo: 100 * one / many.Hi, Hi: 100 * one / many.Lo}
}

// onset returns the least servers at which one query in ten has a timeout.
func (c *comparison) onset(sack bool, delack, changed string) stat.Interval {
	name := fmt.Sprintf("incast onset sack=%t delack=%s%s", sack, delack, side(changed))
	return c.figure(name, "servers", func() stat.Interval { return c.onsetOf(sack, delack, changed) })
}

func (c *comparison) onsetOf(sack bool, delack, changed string) stat.Interval {
	file, where := c.incast(sack, "300ms", delack, changed)
	var seeds [][]map[string]string
	for _, g := range judge.By(c.rows(file, where...),
		func(r *map[string]string) string { return (*r)["seed"] }) {
		seeds = append(seeds, g.Rows)
	}
	return stat.Bootstrap(seeds, 1, func(rows []map[string]string) float64 {
		for _, n := range incastServers {
			of := judge.Where(rows, func(r *map[string]string) bool { return (*r)["servers"] == n })
			if stat.Mean(judge.Values(of, func(r *map[string]string) float64 {
				return c.number(*r,
					"timed") / c.number(*r, "queries")
			})) >= 0.1 {
				x, _ := strconv.ParseFloat(n, 64)
				return x
			}
		}
		return 41 // never, among the plan's
	})
}

func (c *comparison) incastClaims(b *strings.Builder) {
	row := func(what string, least float64, of func(changed string) stat.Interval) {
		ours, other, changed := of(""), of("0"), of("1")
		fmt.Fprintf(b, "| `incast`: %s | %s | %s | %s | %s | %s |\n", what, shown(ours), shown(other), relation(ours,
			other, least), shown(changed), relation(ours, changed, least))
	}
	for _, delack := range []string{"40ms", "off"} {
		row("% of the goodput left at 40 servers, floor 300 ms, ACKs wait "+delack, percent,
			func(changed string) stat.Interval { return c.relative("300ms", delack, changed, "40") })
		row("% of one server's goodput at 16, floor 1 ms, ACKs wait "+delack, percent,
			func(changed string) stat.Interval { return c.relative("1ms", delack, changed, "16") })
		for _, sack := range []bool{true, false} {
			row(fmt.Sprintf("servers at which timeouts begin, floor 300 ms, SACK %s, ACKs wait %s",
				map[bool]string{true: "on", false: "off"}[sack], delack), fewServers,
				func(changed string) stat.Interval { return c.onset(sack, delack, changed) })
		}
	}
}

// shrewPeriods are the periods of pulses in ns, without which there are none.
func shrewPeriods(c *comparison) (all []string) {
	if !c.raw {
		for period := range c.figures["shrew floor=1s pulse=100ms ours"] {
			all = append(all, period)
		}
		return all
	}
	for _, g := range judge.By(c.rows("ours-shrew", "timers=floor=1s", "pulse_ns=100000000"),
		func(r *map[string]string) string { return (*r)["period_ns"] }) {
		all = append(all, g.Key)
	}
	return all
}

func (c *comparison) share(r map[string]string) float64 { return 100 * c.number(r, "share") }

func (c *comparison) shrewOurs(floor string, pulse int) column {
	return func(period string) stat.Interval {
		return c.figure(fmt.Sprintf("shrew floor=%s pulse=%dms ours", floor, pulse), period, func() stat.Interval {
			return c.bySeed(c.rows("ours-shrew", "timers=floor="+floor, fmt.Sprintf("pulse_ns=%d", pulse*1e6),
				"period_ns="+period), c.share)
		})
	}
}

func (c *comparison) shrewOther(floor string, pulse int, changed string) column {
	ns := map[string]string{"1s": "1000000000", "200ms": "200000000", "1ms": "1000000"}[floor]
	return func(period string) stat.Interval {
		name := fmt.Sprintf("shrew floor=%s pulse=%dms%s", floor, pulse, side(changed))
		return c.figure(name, period, func() stat.Interval {
			return c.bySeed(c.rows("ns3-shrew", "changed="+changed, "floor_ns="+ns, fmt.Sprintf("pulse_ns=%d", pulse*1e6),
				"period_ns="+period), c.share)
		})
	}
}

func (c *comparison) shrewClaims(b *strings.Builder) {
	for _, p := range []struct {
		floor, period string
		pulse         int
	}{{"1s", "1000000000", 100}, {"1s", "500000000", 100}, {"200ms", "200000000", 100}, {"200ms", "1000000000", 100},
		{"1ms", "500000000", 100},
		{"1s", "0", 100}, {"1ms", "0", 100}, {"1s", "1000000000", 25}, {"1s", "1000000000", 50}, {"1s", "500000000",
			50}, {"1s", "1000000000", 75}, {"1s", "1000000000", 150}} {
		ours, other := c.shrewOurs(p.floor, p.pulse)(p.period), c.shrewOther(p.floor, p.pulse, "0")(p.period)
		what := fmt.Sprintf("pulses of %d ms each %s s", p.pulse,
			experiments.Number(c.number(map[string]string{"s": p.period}, "s")/1e9))
		if p.period == "0" {
			what = "no pulses"
		}
		fmt.Fprintf(b, "| `shrew`: %% of the rate, floor %s, %s | %s | %s | %s |", p.floor, what, shown(ours),
			shown(other), relation(ours, other, percent))
		if p.pulse != 100 {
			fmt.Fprintln(b, " | |")
			continue
		}
		changed := c.shrewOther(p.floor, p.pulse, "1")(p.period)
		fmt.Fprintf(b, " %s | %s |\n", shown(changed), relation(ours, changed, percent))
	}
}

// vegasTimers are those of ours and those of ns-3.
var vegasTimers = [][2]string{{"bsd", "4.4BSD's ticks"}, {"bsd", "floor 1 s on a clock of 500 ms"}, {"rfc6298",
	"floor 1 s"}, {"rfc6298 floor=1ns", "no floor"}}

var vegasRTTs = []string{"20000000", "50000000", "100000000", "150000000", "200000000", "300000000"}

func (c *comparison) wait(rows []map[string]string) stat.Interval {
	return c.bySeed(rows, func(r map[string]string) float64 { return c.number(r, "mean_ms") })
}

func (c *comparison) vegasColumn(file, timers, kind string, where ...string) column {
	return func(rtt string) stat.Interval {
		name := strings.Join(append([]string{file, timers, kind}, where...), " ")
		return c.figure(name, rtt, func() stat.Interval {
			return c.wait(c.rows(file, append(where, "timers="+timers, "kind="+kind, "rtt_ns="+rtt)...))
		})
	}
}

func (c *comparison) vegasFigures(b *strings.Builder) {
	for _, timers := range vegasTimers {
		for _, kind := range []string{"alone", "of three", "again"} {
			ours, other := c.vegasColumn("ours-vegas", timers[0], kind), c.vegasColumn("ns3-vegas", timers[1], kind,
				"changed=0")
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |", timers[1], kind, shown(ours(vegasRTTs[2])),
				shown(other(vegasRTTs[2])), count(vegasRTTs, ours, other, noLeast))
			if strings.HasSuffix(timers[1], "500 ms") {
				fmt.Fprintln(b, " | |")
				continue
			}
			changed := c.vegasColumn("ns3-vegas", timers[1], kind, "changed=1")
			fmt.Fprintf(b, " %s | %s |\n", shown(changed(vegasRTTs[2])), count(vegasRTTs, ours, changed, noLeast))
		}
	}
}

func (c *comparison) vegasClaims(b *strings.Builder) {
	short := func(file string, where ...string) stat.Interval {
		return c.figure(strings.Join(append([]string{file, "short"}, where...), " "), "rtts", func() stat.Interval {
			return c.wait(judge.Where(c.rows(file, where...), func(r *map[string]string) bool {
				return slices.Contains(vegasRTTs[:4], (*r)["rtt_ns"])
			}))
		})
	}
	for _, timers := range vegasTimers {
		ours, other := short("ours-vegas", "timers="+timers[0]),
			short("ns3-vegas", "timers="+timers[1], "changed=0")
		fmt.Fprintf(b, "| `vegas`: mean wait at round trips up to 150 ms, in ms, %s | %s | %s | %s |", timers[1],
			shown(ours), shown(other), relation(ours, other, noLeast))
		if strings.HasSuffix(timers[1], "500 ms") {
			fmt.Fprintln(b, " | |")
			continue
		}
		changed := short("ns3-vegas", "timers="+timers[1], "changed=1")
		fmt.Fprintf(b, " %s | %s |\n", shown(changed), relation(ours, changed, noLeast))
	}
}
