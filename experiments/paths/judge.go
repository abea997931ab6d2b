package paths

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "How long does an upload take over the paths that gVisor's users report, with each TCP?",
	Found: "As reported, late packets, a coarse clock, a policer and a relay that holds packets slow gVisor's TCP down: " +
		"it takes {tailscale#} times as long as ours over the path of tailscale/tailscale#20893 with the reporter's " +
		"settings, {sack#} times as long with SACK as without under Windows's clock, and {relay#} times as long as ours " +
		"over the relay. Ours takes at most {default#} times what gVisor's TCP takes with the better settings.",
}

// report is what a reporter saw, as the times or counts of senders on the path.
type report struct {
	name        string
	what        string // the path in short
	path        string
	text        string // the claim
	published   string
	source      string
	band        experiments.Band
	basis       string // of a band that is no printed number
	slow, other string // senders: the claim is the time of slow over that of other
}

const (
	pull  = "https://github.com/%s/pull/%s"
	issue = "https://github.com/%s/issues/%s"
	// linux is the sender next to which reporters' kernels are put.
	linux = "ours linux control=cubic"
)

func link(form, repository, number string) string { return fmt.Sprintf(form, repository, number) }

// effect is a band for a factor: at 1.1 and less there is no effect.
func effect(b experiments.Band) experiments.Band { return b.OrDiffers(experiments.Above(1.1, "times")) }

var reports = []report{
	{"tailscale", "66 ms, few packets are late", "tailscale/tailscale#20893",
		"over 66 ms, where few packets are late and 0.003 % are lost, gVisor's TCP without RACK takes 4 to 8 times as long " +
			"as the kernel", "kernel 180 Mbit/s, userspace 22 to 45, with RACK 130 to 240",
		link(issue, "tailscale/tailscale", "20893"), effect(experiments.PrintedRange(4, 8.2, "times")), "", reporter, linux},
	{"netbird", "Windows's clock, 1 Gbit/s", "netbirdio/netbird#6808",
		"with Windows's clock RACK finds losses where none are, and gVisor's TCP is slower with it than without",
		"spurious retransmissions and a collapsed congestion window", link(pull, "netbirdio/netbird", "6808"),
		experiments.PrintedBound(experiments.Above(1.1, "times")), "ours: no number is printed", gvisor, reporter},
	{"windows", "Windows's clock, 35 Mbit/s", "google/gvisor#9778",
		"with Windows's clock, Reno and RACK gVisor's TCP takes 8.75 times as long as the system's",
		"35 Mbit/s by the system's TCP, near 4 by gVisor's (tailscale/tailscale#9707); windows of 5 to 9 packets",
		link(issue, "google/gvisor", "9778"), effect(experiments.Printed(8.75, "times")), "", reporter, linux},
	{"sack", "Windows's clock, a LAN", "google/gvisor#10343",
		"on a LAN with Windows's clock SACK makes gVisor's TCP take 3 times as long",
		"1 Gbit/s with SACK, 3 without, by iperf3 through tun2socks", link(issue, "google/gvisor", "10343"),
		effect(experiments.Printed(3, "times")), "", gvisor, reporter},
	{"policer", "a policer", "google/gvisor#7406",
		"behind a policer of 200 Mbit/s gVisor's TCP all but stops with RACK, and goes on without",
		"311 Mbit/s, then 0.114 from the fourth second on; without RACK near the limit", link(issue, "google/gvisor", "7406"),
		experiments.AtLeast(10, "times").OrDiffers(experiments.Above(1.1, "times")),
		"ours: the run ends at the plan's limit, so the factor has no upper end", gvisor, reporter},
	{"short", "40 µs, 1 % is lost", "google/gvisor#6113",
		"over round trips of microseconds gVisor's TCP stops after a while", "flows with SndCwnd:0 send no more",
		link(issue, "google/gvisor", "6113"), experiments.AtLeast(10, "times").OrDiffers(experiments.Above(1.1, "times")),
		"ours: no number is printed", gvisor, linux},
	{"relay", "a relay holds packets", "p1neappleXpress/OpenFlux#71",
		"over a relay that holds packets for 0.3 to 1 s gVisor's TCP takes 40 to 50 times as long as the kernel",
		"upload 0.1 MB/s, download from Linux 5 to 7, upload without RACK 4 to 5",
		link(pull, "p1neappleXpress/OpenFlux", "71"), effect(experiments.PrintedRange(40, 50, "times")), "", gvisor, linux},
	{"queue", "a queue overflows", "denoland/clawpatrol#140",
		"where a queue of 1024 packets overflows, gVisor's TCP without SACK falls from 5 MB/s to a 25th",
		"5 MB/s, then 0.2", link(pull, "denoland/clawpatrol", "140"), effect(experiments.Printed(25, "times")), "", reporter,
		linux},
	{"floor", "180 ms, jitter", "denoland/clawpatrol#147",
		"over 180 ms a floor of 200 ms makes gVisor's TCP slower than one of 1 s without RACK",
		"48 spurious timeouts in a session, none with a floor of 1 s", link(pull, "denoland/clawpatrol", "147"),
		experiments.PrintedBound(experiments.Above(1.1, "times")), "ours: no time is printed", gvisor, reporter},
	{"bursts", "bursts of loss", "WireGuard/wireguard-go#72",
		"where packets are lost in bursts, gVisor's TCP without SACK takes an order of magnitude longer",
		"SACK improves throughput by an order of magnitude", link(pull, "WireGuard/wireguard-go", "72"),
		experiments.Between(5, 50, "times").OrDiffers(experiments.Above(1.1, "times")), "ours: half of ten to five times ten",
		reporter, gvisor},
}

// times returns the times of a path and sender, in s.
func times(rows []Row, path, sender string) []float64 {
	of := judge.Where(rows, func(r *Row) bool { return r.Path == path && r.Sender == sender })
	return judge.Values(of, func(r *Row) float64 { return r.Time.Seconds() })
}

// factor returns the time of a sender over that of another on a path, NaN without both.
func factor(rows []Row, path, slow, other string) stat.Interval {
	top, bottom := times(rows, path, slow), times(rows, path, other)
	if len(top) == 0 || len(top) != len(bottom) {
		return stat.Interval{Value: math.NaN()}
	}
	return judge.Ratio(top, bottom)
}

// needs says that a plan has too few seeds for a verdict, "" if it has enough.
func (p *Plan) needs() string {
	if p.Seeds >= judge.Seeds {
		return ""
	}
	return fmt.Sprintf("an interval over %d seeds is too narrow: run at least %d", p.Seeds, judge.Seeds)
}

func outcome(p *Plan, rows []Row) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	for _, r := range reports {
		c := experiments.Claim{Name: r.name, Class: experiments.OfOthers, Tag: experiments.FromPrint, Text: r.text,
			Published: r.published, Source: r.source, Basis: r.basis, Expected: r.band,
			Measured: experiments.MeasuredWithin(factor(rows, r.path, r.slow, r.other), "times"),
			Look: experiments.Look{Read: experiments.ReadPaper, At: r.path,
				Turns: "the path's numbers that the report leaves out: README.md lists them"}}
		c.Needs = p.needs()
		out.Judge(c)
	}
	for i, name := range []string{"default", "linux"} {
		if i < len(p.Ours) {
			out.Judge(p.worst(name, "ours "+p.Ours[i].Text, rows))
		}
	}
	out.Tables = append(out.Tables, p.table(rows))
	if cut := judge.Count(rows, func(r *Row) bool { return r.Unfinished }); cut > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d transfers were not done after %v, and count with their age.", cut,
			len(rows), p.Limit))
	}
	return out, nil
}

// best returns the least mean time of gVisor's TCP on a path, with any of its settings.
func best(rows []Row, path string) (sender string, mean float64) {
	mean = math.NaN()
	for _, s := range []string{gvisor, reporter} {
		if x := stat.Mean(times(rows, path, s)); x == x && !(x >= mean) {
			sender, mean = s, x
		}
	}
	return sender, mean
}

// worst is the law that ours is as fast as gVisor's best on each path.
func (p *Plan) worst(name, ours string, rows []Row) experiments.Claim {
	const most = 1.05
	at, in := "", stat.Interval{Value: math.NaN()}
	for i := range p.Paths {
		path := p.Paths[i].Name
		sender, _ := best(rows, path)
		if f := factor(rows, path, ours, sender); !(f.Value <= in.Value) {
			at, in = path, f
		}
	}
	return experiments.Claim{Name: name, Class: experiments.Law, Tag: experiments.Computed,
		Source: "the goal of this study",
		Text: fmt.Sprintf("on no path does %s take more than 5 %% longer than gVisor's TCP with the better settings",
			ours),
		Measured: experiments.MeasuredWithin(in, "times, most, on "+at),
		Expected: experiments.AtMost(most, "times"), Basis: "set for this project", Needs: p.needs()}
}

// shown returns the mean time of a sender, in s, as a cell.
func shown(rows []Row, path, sender string) any {
	of := judge.Where(rows, func(r *Row) bool { return r.Path == path && r.Sender == sender })
	if len(of) == 0 {
		return ""
	}
	mean := judge.Mean(of, func(r *Row) float64 { return r.Time.Seconds() })
	if judge.Count(of, func(r *Row) bool { return r.Unfinished }) > 0 {
		return "above " + experiments.Number(mean)
	}
	return mean
}

func (p *Plan) table(rows []Row) experiments.Table {
	t := experiments.Table{Name: "paths", Title: "Mean time of a transfer in s, by path and sender",
		Columns: []string{"report", "path"}}
	for _, o := range p.Ours {
		t.Columns = append(t.Columns, "ours, "+strings.Fields(o.Text)[0])
	}
	t.Columns = append(t.Columns, "gVisor", "as reported", "settings of the report", "gVisor's best over ours")
	for i := range p.Paths {
		path := &p.Paths[i]
		row := []any{path.Name, ""}
		if i := slices.IndexFunc(reports, func(r report) bool { return r.path == path.Name }); i >= 0 {
			row[1] = reports[i].what
		}
		for _, o := range p.Ours {
			row = append(row, shown(rows, path.Name, "ours "+o.Text))
		}
		settings := ""
		if s := p.senders(path); s[len(s)-1].name == reporter {
			settings = strings.TrimPrefix(path.Reporter.String(), testbed.Subject{Kind: testbed.GVisor}.String()+", ")
		}
		_, mean := best(rows, path.Name)
		t.Add(append(row, shown(rows, path.Name, gvisor), shown(rows, path.Name, reporter), settings,
			mean/stat.Mean(times(rows, path.Name, "ours "+p.Ours[0].Text)))...)
	}
	return t
}

// judgeKernel compares ours with this machine's kernel.
func judgeKernel(p *Plan, rows []Row) *experiments.Outcome {
	out := &experiments.Outcome{}
	t := experiments.Table{Name: "kernel", Columns: []string{"path", kernel}}
	t.Title = fmt.Sprintf("Mean time of a transfer in s over %d seeds: this machine's kernel with %s in real time and "+
		"ours in virtual time", p.KernelSeeds, p.Control)
	for _, o := range p.Ours {
		t.Columns = append(t.Columns, "ours, "+strings.Fields(o.Text)[0], "over the kernel's")
	}
	for i := range p.Paths {
		path := p.Paths[i].Name
		row := []any{path, shown(rows, path, kernel)}
		for _, o := range p.Ours {
			row = append(row, shown(rows, path, "ours "+o.Text), factor(rows, path, "ours "+o.Text, kernel).Value)
		}
		t.Add(row...)
	}
	for _, o := range p.Ours {
		at, in := "", stat.Interval{Value: math.NaN()}
		for i := range p.Paths {
			path := p.Paths[i].Name
			if f := factor(rows, path, "ours "+o.Text, kernel); !(f.Value <= in.Value) {
				at, in = path, f
			}
		}
		out.Judge(experiments.Claim{Name: "kernel-" + strings.Fields(o.Text)[0], Class: experiments.Law,
			Tag: experiments.Computed, Source: "the goal of this study",
			Text:     fmt.Sprintf("on no path is ours %s slower than the kernel with %s", o.Text, p.Control),
			Measured: experiments.Measured(in.Value, "times, most, on "+at),
			Expected: experiments.AtMost(1.05, "times"),
			Basis:    "set for this project; 5 % for the noise of real time"})
	}
	out.Tables = append(out.Tables, t)
	return out
}
