package script

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/netstack/tcp"
)

// comparison compares two sums.
type comparison struct {
	x, y []summand
	op   string // one of comparators
}

// comparators are the operators of comparisons. A longer one comes before its prefix.
var comparators = []string{"==", "<=", ">=", "<", ">"}

// summand is a product that is added or subtracted.
type summand struct {
	negative bool
	factors  []factor
}

// factor is a number, or a name that has one.
type factor struct {
	n    int64
	name string
}

// assert reads %{ assert sum == sum and … }%.
func (s *scanner) assert() *Assert {
	a := &Assert{}
	s.expect("%{", "before assert")
	if !s.acceptWord("assert") {
		s.want("assert")
	}
	s.peek()
	at := s.off
	for more := true; more; more = s.acceptWord("and") {
		c := comparison{x: s.sum()}
		for _, op := range comparators {
			if c.op == "" && s.accept(op) {
				c.op = op
			}
		}
		if c.op == "" {
			s.want("one of %s", strings.Join(comparators, " "))
		}
		c.y = s.sum()
		a.All = append(a.All, c)
	}
	a.Text = strings.TrimRight(s.text[at:s.off], blanks)
	s.expect("}%", "after assert")
	return a
}

func (s *scanner) sum() (sum []summand) {
	for negative := false; ; negative = s.accept("-") {
		t := summand{negative: negative}
		for more := true; more; more = s.accept("*") {
			t.factors = append(t.factors, s.factor())
		}
		sum = append(sum, t)
		if s.peek() != '-' && !s.accept("+") {
			return sum
		}
	}
}

func (s *scanner) factor() factor {
	if isDigit(s.peek()) {
		return factor{n: int64(s.uint("number", 1<<62))}
	}
	name := s.word()
	if n, ok := constantsOfAsserts[name]; ok {
		s.accept(name)
		return factor{n: n}
	}
	if !isVariable(name) {
		s.want("a number, or a name that netstack/tcp/testdata/README.md lists")
	}
	s.accept(name)
	return factor{name: name}
}

// isVariable reports whether a name has a value in a run: a field of tcp_info or a counter.
func isVariable(name string) (ok bool) {
	new(tcp.Counters).Each(func(counter string, _ uint64) { ok = ok || counter == name })
	return ok || infoFields[name] != nil || name == "tcpi_sockets" || name == "tcpi_now"
}

// assert ends the run if a comparison does not hold, and shows the values of all names.
func (r *runner) assert(a *Assert) {
	for _, c := range a.All {
		x, y := r.sum(c.x), r.sum(c.y)
		holds := x < y && strings.HasPrefix(c.op, "<") || x > y && strings.HasPrefix(c.op, ">") || x == y && strings.HasSuffix(c.op, "=")
		if holds {
			continue
		}
		var values []string
		for _, c := range a.All {
			for _, t := range append(c.x, c.y...) {
				for _, f := range t.factors {
					if f.name != "" {
						values = append(values, fmt.Sprintf("%s = %d", f.name, r.lookup(f.name)))
					}
				}
			}
		}
		r.failWith("assert does not hold", a.Text, strings.Join(values, ", "))
	}
}

func (r *runner) sum(sum []summand) (n int64) {
	for _, t := range sum {
		product := int64(1)
		for _, f := range t.factors {
			if f.name != "" {
				f.n = r.lookup(f.name)
			}
			product *= f.n
		}
		if t.negative {
			product = -product
		}
		n += product
	}
	return n
}

// lookup returns the value of a variable.
func (r *runner) lookup(name string) (n int64) {
	switch name {
	case "tcpi_sockets":
		return int64(r.host.Connections())
	case "tcpi_now":
		return int64(r.elapsed() / time.Microsecond)
	}
	get := infoFields[name]
	if get == nil {
		counters := r.host.Counters()
		counters.Each(func(counter string, v uint64) {
			if counter == name {
				n = int64(v)
			}
		})
		return n
	}
	i := r.info(r.current)
	if i == nil {
		r.fail("%s: there is no connection yet", name)
	}
	if name == "tcpi_state" {
		r.current.asked = i.State == tcp.StateClosed
	}
	return get(i)
}
