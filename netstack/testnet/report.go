package testnet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tcpwheel/netstack/tcp"
)

// maxRows is how many rows a table has, and maxNamed how many packets a sentence.
const (
	maxRows  = 20
	maxNamed = 3
)

// report returns what the search has found: a sentence, a table of the runs that failed or were
// slow, and how to repeat those that failed. It is "" if -run chose other runs.
func (s *search) report() string {
	if len(s.singles) == 0 {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "testnet: %s", s.sentence(s.singles, s.what(false)))
	if len(s.pairs) > 0 {
		fmt.Fprintf(&text, "\n%s", s.sentence(s.pairs, s.what(true)))
	}
	if s.untried {
		fmt.Fprintf(&text, "\nThere is more to try: %d runs are what Search.Runs allows.", s.Runs)
	}
	if s.differ > 0 {
		fmt.Fprintf(&text, "\nIn %d runs other packets were sent before the fault: the order of the program's goroutines differs.", s.differ)
	}
	rows := s.rows()
	if len(rows) == 0 {
		return text.String()
	}
	text.WriteString("\n\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "run\twhat\tsent at\tthen\tcosts\tresult")
	for _, r := range rows[:min(len(rows), maxRows)] {
		at, what := "", ""
		if s.fault.kind != seeds {
			what = s.describe(r)
			at = ms(time.Duration(s.packets[r.at[0]-1].at))
		} else if r.why != nil {
			what = "fails with only " + s.packetsOf(r.why) + " lost"
		}
		result := "slow"
		if r.failed {
			result = "FAIL"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.run(), what, at, cmp.Or(r.then, "-"), ms(r.cost), result)
	}
	table.Flush()
	if more := len(rows) - maxRows; more > 0 {
		fmt.Fprintf(&text, "and %d more\n", more)
	}
	for _, r := range rows[:min(len(rows), maxNamed)] {
		if r.failed {
			fmt.Fprintf(&text, "\nRepeat %s: go test -run '%s'%s", r.run(), runPattern(r.name), s.asPath(r.at))
		}
	}
	return strings.TrimRight(text.String(), "\n")
}

// run returns the last part of a run's name.
func (r *outcome) run() string { return r.name[strings.LastIndex(r.name, "/")+1:] }

// ms rounds a span for a report.
func ms(d time.Duration) string {
	if d > 10*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// what names the faults of a search in the plural.
func (s *search) what(pairs bool) string {
	switch s.fault.kind {
	case losses:
		if pairs {
			return "pairs of losses"
		}
		return "single losses"
	case delays, pauses:
		return fmt.Sprintf("%ss of %v", s.fault.kind, s.fault.span)
	case crashes:
		return fmt.Sprintf("crashes of the server for %v", s.fault.span)
	}
	return string(s.fault.kind) + "s"
}

// sentence counts the runs that failed and those that were slow.
func (s *search) sentence(runs []*outcome, what string) string {
	var named []string
	failed, slow := 0, 0
	for _, r := range runs {
		switch {
		case r.failed:
			if failed++; failed <= maxNamed {
				text := r.run()
				if s.fault.kind != seeds {
					text = s.packetsOf(r.at) + ", " + s.describe(r)
				}
				if r.then != "" {
					text += " (" + r.then + ")"
				}
				named = append(named, text)
			}
		case r.cost > s.Slow:
			slow++
		}
	}
	text := fmt.Sprintf("%d of %d %s fail", failed, len(runs), what)
	if failed > 0 {
		text += ": " + strings.Join(named, "; ")
	}
	if failed > maxNamed {
		text += fmt.Sprintf("; and %d more", failed-maxNamed)
	}
	return text + fmt.Sprintf("; %d cost more than %v.", slow, s.Slow)
}

// rows returns the runs that failed, then those that were slow, the slowest first.
func (s *search) rows() (rows []*outcome) {
	for _, r := range slices.Concat(s.singles, s.pairs) {
		if r.failed || r.cost > s.Slow {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *outcome) int {
		if a.failed != b.failed {
			if a.failed {
				return -1
			}
			return 1
		}
		if a.failed {
			return 0
		}
		return cmp.Compare(b.cost, a.cost)
	})
	return rows
}

// packetsOf names packets by number.
func (s *search) packetsOf(at set) string {
	if len(at) == 1 {
		return "packet " + at.String()
	}
	return "packets " + strings.ReplaceAll(at.String(), ",", " and ")
}

// describe says what the packets of a run are.
func (s *search) describe(r *outcome) string {
	return describe(s.packets, r.at[0]) + r.second
}

// describe says what packet n of a run is.
func describe(packets []sent, n int) string {
	if n > len(packets) {
		return "a later packet"
	}
	p := &packets[n-1]
	whose := "the " + p.host + "'s "
	switch {
	case p.down:
		return "an answer of the router"
	case p.udp:
		return fmt.Sprintf("%sdatagram of %d bytes", whose, p.size)
	case p.flags.Has(tcp.SYN | tcp.ACK):
		return whose + "SYN-ACK"
	case p.flags.Has(tcp.SYN):
		return whose + "SYN"
	case p.flags.Has(tcp.RST):
		return whose + "RST"
	case p.size == 0 && p.flags.Has(tcp.FIN):
		return whose + "FIN"
	case p.size == 0:
		return whose + "ACK"
	}
	first, last := p.seq, true
	for i := range packets {
		switch o := &packets[i]; {
		case o.from != p.from || o.to != p.to:
		case o.flags.Has(tcp.SYN):
			first = o.seq + 1
		case o.size > 0 && p.end().Before(o.end()):
			last = false
		}
	}
	text := fmt.Sprintf("bytes %d to %d", p.seq-first, p.seq-first+tcp.Seq(p.size)-1)
	if last {
		text = "last " + text
	}
	return whose + text
}

// asPath returns the Path that repeats a single loss without a search.
func (s *search) asPath(at set) string {
	if s.fault.kind != losses || len(at) != 1 {
		return ""
	}
	p := &s.packets[at[0]-1]
	if p.nth == 0 {
		return ""
	}
	field := "Up"
	if p.down {
		field = "Down"
	}
	return fmt.Sprintf(", or New with HostConfig{Name: %q, Path: Path{%s: \"loss=packets:%d\"}}", p.host, field, p.nth)
}

// runPattern returns the argument of -run for one test.
func runPattern(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return strings.Join(elements, "/")
}

// compare returns a table of searches under several policies.
func compare(searches []*search) string {
	var text strings.Builder
	text.WriteString("testnet:\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "policy\twithout a fault\truns\tfail\tslow\tcosts most\tby")
	rows := 0
	for _, s := range searches {
		all := slices.Concat(s.singles, s.pairs)
		if len(all) == 0 {
			continue
		}
		failed, slow := 0, 0
		for _, r := range all {
			switch {
			case r.failed:
				failed++
			case r.cost > s.Slow:
				slow++
			}
		}
		most := slices.MaxFunc(all, func(a, b *outcome) int { return cmp.Compare(a.cost, b.cost) })
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", s.options.policy, ms(s.base.took), len(all), failed, slow, ms(most.cost), cmp.Or(most.then, "-"))
		rows++
	}
	if rows == 0 {
		return ""
	}
	table.Flush()
	return strings.TrimRight(text.String(), "\n")
}
