package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/wheel/wheelbench"
)

// countsFile has what the program counted when its speed was last looked at: a name and a count a
// line. go test ./cmd/tcpwheel/internal/cli -run CountsHaveNotGrown -update writes it.
const countsFile = "testdata/counts.csv"

// A count may grow by a tenth, and by countSlack besides, before the test fails.
const (
	countGrowth = 1.1
	countSlack  = 100
)

// countedJobs are the commands whose instructions and allocations are counted.
var countedJobs = []struct{ name, args string }{
	{"start", "version"},
	{"analyze", "analyze --json sample:burst sample:outage sample:reorder-loss"},
	{"replay", "replay --json --policy linux,per-segment,bsd sample:burst"},
}

// countedFlows are the simulated runs whose events and allocations are counted.
var countedFlows = []bulkFlows{{10_000, 1e10, 0.001}, {100, 1e9, 0.01}}

// bulkFlows are flows over one bottleneck in virtual time.
type bulkFlows struct {
	flows int
	rate  uint64
	loss  float64
}

// run runs the flows until so many segments have arrived.
func (c bulkFlows) run(t testing.TB, rexmit string, segments uint64) *host.Flows {
	const rtt = 50 * time.Millisecond
	back := sim.LinkConfig{Rate: c.rate, Delay: rtt / 2, Queue: sim.Limit{Bytes: c.rate/8/20 + uint64(c.flows)*1500 + 15000}}
	link := back
	link.Loss = sim.Losses{sim.Bernoulli{P: c.loss}}
	f, err := host.NewFlows(host.FlowsConfig{Seed: 1, Flows: c.flows, Stagger: rtt, Duration: 24 * time.Hour, Link: link, Return: &back, Policy: "per-segment rexmit=" + rexmit})
	if err != nil {
		t.Fatal(err)
	}
	for more := true; more && f.Receiver.Counts().DataSegments < segments; {
		more = f.Run(f.World.Net.Now().Add(rtt / 4))
	}
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCountsHaveNotGrown fails if the program does more than a tenth more work than countsFile
// says: visits of wheels, allocations, and instructions where perf counts them. It measures no
// time, so that a busy machine changes nothing.
func TestCountsHaveNotGrown(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" && !*update {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	got := make(map[string]uint64)
	wheelCounts(t, got, "wheel", "--n", "1000", "--budget", "1ms")
	wheelCounts(t, got, "wheel n=100000", "--n", "100000", "--workloads", "expire,ratas", "--budget", "500ms")
	simCounts(t, got)
	commandCounts(t, got)
	countInstructions(t, got)
	want := readCounts(t)
	if *update {
		maps.Copy(want, got)
		writeCounts(t, want)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		old, known := want[name]
		switch n := got[name]; {
		case !known:
			t.Errorf("%s: %d, and %s has no such count", name, n, countsFile)
		case float64(n) > countGrowth*float64(old)+countSlack:
			t.Errorf("%s grew from %d to %d, by %.0f %%, want at most 10", name, old, n, 100*(float64(n)/float64(old)-1))
		case float64(n) < float64(old)/countGrowth-countSlack:
			t.Logf("%s fell from %d to %d: update %s to keep it there", name, old, n, countsFile)
		}
	}
}

// wheelCounts adds what two schemes count in workloads.
func wheelCounts(t *testing.T, counts map[string]uint64, prefix string, flags ...string) {
	args := append([]string{"wheel", "bench", "--schemes", "scheme6,scheme7-lazy", "--rounds", "1", "--json"}, flags...)
	before := len(counts)
	for records := json.NewDecoder(output(t, args)); records.More(); {
		var r struct {
			wheelbench.Result
			Counts map[string]uint64 `json:"counts"`
		}
		if err := records.Decode(&r); err != nil {
			t.Fatal(err)
		}
		for name, n := range r.Counts {
			counts[fmt.Sprintf("%s %s %s %s", prefix, r.Scheme, r.Workload, name)] = n
		}
	}
	if len(counts) == before {
		t.Fatal("the benchmark counted nothing")
	}
}

// simCounts adds what bulk flows do with a retransmission timer for each segment, and with one for
// each connection.
func simCounts(t *testing.T, counts map[string]uint64) {
	for _, c := range countedFlows {
		name := fmt.Sprintf("sim-%d-flows", c.flows)
		count := countAllocations(counts, name)
		for _, rexmit := range []string{"per-segment", "restart"} {
			r, of := c.run(t, rexmit, 50_000), name+" "+rexmit
			sender := r.Sender.Counters()
			counts[of+" events"], counts[of+" retransmissions"], counts[of+" timeouts"] = r.World.Net.Events(), sender.RetransSegs, sender.TCPTimeouts
		}
		count()
	}
}

// output runs a command that must succeed.
func output(t *testing.T, args []string) io.Reader {
	var out, errs bytes.Buffer
	if status := run(args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("tcpwheel %s exits with %d: %s", strings.Join(args, " "), status, errs.String())
	}
	return &out
}

// countAllocations counts the allocations and their kilobytes until the returned function is called.
func countAllocations(counts map[string]uint64, name string) (count func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() {
		runtime.ReadMemStats(&after)
		counts["allocations "+name] = after.Mallocs - before.Mallocs
		counts["allocated kB "+name] = (after.TotalAlloc - before.TotalAlloc) / 1000
	}
}

// commandCounts counts the allocations of each job, run in this process.
func commandCounts(t *testing.T, counts map[string]uint64) {
	for _, job := range countedJobs {
		count := countAllocations(counts, job.name)
		var errs bytes.Buffer
		if status := run(strings.Fields(job.args), strings.NewReader(""), io.Discard, &errs); status != 0 {
			t.Fatalf("tcpwheel %s exits with %d: %s", job.args, status, errs.String())
		}
		count()
	}
}

// countInstructions counts the instructions of user space of each job, with one processor and no
// garbage collection. Their number depends on the compiler, so the names say which it was.
func countInstructions(t *testing.T, counts map[string]uint64) {
	if _, ok := instructions("true"); !ok {
		t.Log("instructions are not counted: no perf, or no such counter on this machine")
		return
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go1."), ".")
	prefix := fmt.Sprintf("instructions go1.%s %s ", release, runtime.GOARCH)
	if known := readCounts(t); !*update && !slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(name string) bool {
		return strings.HasPrefix(name, prefix)
	}) {
		t.Logf("instructions are not counted: %s has none with Go 1.%s on %s", countsFile, release, runtime.GOARCH)
		return
	}
	binary := filepath.Join(t.TempDir(), "tcpwheel")
	if out, err := exec.Command("go", "build", "-pgo=../../release.pgo", "-o", binary, "tcpwheel/cmd/tcpwheel").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, job := range countedJobs {
		n, ok := instructions(binary, strings.Fields(job.args)...)
		if !ok {
			t.Errorf("perf stat of tcpwheel %s failed", job.args)
		}
		counts[prefix+job.name] = n
	}
}

// instructions returns how many instructions a program takes in user space. ok is false if it fails
// or cannot be counted.
func instructions(program string, args ...string) (n uint64, ok bool) {
	cmd := exec.Command("perf", append([]string{"stat", "-x", ",", "-e", "instructions:u", program}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "LC_ALL=C")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if cmd.Run() != nil {
		return 0, false
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	value, _, _ := strings.Cut(lines[len(lines)-1], ",")
	n, err := strconv.ParseUint(value, 10, 64)
	return n, err == nil
}

func readCounts(t *testing.T) map[string]uint64 {
	counts := make(map[string]uint64)
	f, err := os.Open(countsFile)
	if os.IsNotExist(err) && *update {
		return counts
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		n, err := strconv.ParseUint(row[1], 10, 64)
		if err != nil {
			t.Fatalf("%s, line %d: count %q, want a number", countsFile, i+1, row[1])
		}
		counts[row[0]] = n
	}
	return counts
}

func writeCounts(t *testing.T, counts map[string]uint64) {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s,%d\n", name, counts[name])
	}
	if err := os.WriteFile(countsFile, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
