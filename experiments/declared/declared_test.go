package declared

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/wheel/stat"
)

// wait is a row: how long a loss waited under some timers.
type wait struct {
	Timers string        `json:"timers"`
	RTT    time.Duration `json:"rtt_ns" help:"of the idle path"`
	Seed   int           `json:"seed"`
	Wait   time.Duration `json:"wait_ns"`
	Losses int           `json:"losses" unit:"segments"`
	Shares []float64     `json:"shares,omitempty"`
	Live   bool          `json:"live"`
	Tries  Sample        `json:"tries,omitempty"`
}

// waitPlan is its plan.
type waitPlan struct {
	Coarse string          `plan:"coarse"`
	Fine   policy          `plan:"fine"`
	Rate   int             `plan:"rate"`
	Seeds  int             `plan:"seeds"`
	Trips  []time.Duration `plan:"trips"`
}

// policy is a type of a plan with a value of its own.
type policy string

func (p policy) String() string { return string(p) }
func (p policy) Value(name string) (any, bool) {
	return 200 * time.Millisecond, name == "floor"
}

var (
	thePlan = &waitPlan{Coarse: "bsd", Fine: "fine", Rate: 8_000_000, Seeds: 2,
		Trips: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}}
	theRows = []wait{
		{"bsd", 20 * time.Millisecond, 1, 1000 * time.Millisecond, 1, []float64{0.5, 0.25}, false,
			Sample{2 * time.Millisecond, time.Millisecond}},
		{"bsd", 20 * time.Millisecond, 2, 1400 * time.Millisecond, 3, []float64{0.5, 0.75}, false,
			Sample{3 * time.Millisecond}},
		{"bsd", 10 * time.Millisecond, 1, 1300 * time.Millisecond, 2, nil, true, nil},
		{"fine", 20 * time.Millisecond, 1, 100 * time.Millisecond, 1, nil, false, nil},
		{"fine", 20 * time.Millisecond, 2, 300 * time.Millisecond, 1, nil, false, nil},
	}
)

// TestExpressions evaluates expressions over the rows above. It uses each operator.
func TestExpressions(t *testing.T) {
	used := map[string]bool{}
	for text, want := range map[string]string{
		`1 + 2 * 3`:                 "7",
		`(1 + 2) * 3 / 2`:           "4.5",
		`-2 * 20ms`:                 "-40ms",
		`1s - 1m / 120 + 250us * 4`: "501ms",
		`1s / 250ms`:                "4",
		`"a" + 'b'`:                 "ab",
		`not (1 > 2) and 'a' != 'b' and 20ms <= 20ms or 1 / 0 < 0`: "yes",
		`coarse == "bsd" and fine != coarse`:                       "yes",
		`"{coarse} and {2 * rate}"`:                                "bsd and 16,000,000",
		`fine.floor`:                                               "200ms",

		`mean(losses)`:                          "1.6",
		`mean(ms(wait) where timers == coarse)`: "1233",
		`mean(ms(wait) where timers == coarse and rtt == 20ms and not live)`:   "1200",
		`sum(losses where timers == 'bsd')`:                                    "6",
		`mean(greatest(losses) over timers)`:                                   "2",
		`sum(least(losses) over rtt where timers == coarse)`:                   "3",
		`place(trips, 20ms)`:                                                   "1",
		`total(wait where timers == coarse)`:                                   "3.7s",
		`ranked(shares, 2 where timers == coarse)`:                             "0.5",
		`median(losses where timers == coarse)`:                                "2",
		`quantile(losses, 1)`:                                                  "3",
		`interval(losses where timers == fine)`:                                "1",
		`interval(losses).lo <= interval(losses).hi`:                           "yes",
		`100 * interval(losses where timers == fine).hi`:                       "100",
		`ratio(ms(wait), losses where timers == coarse)`:                       "616.7",
		`count(where losses == 1)`:                                             "3",
		`count(trips)`:                                                         "2",
		`least(wait)`:                                                          "100ms",
		`greatest(losses where timers == coarse)`:                              "3",
		`least(mean(ms(wait)) over rtt where timers == coarse)`:                "1200",
		`least(mean(ms(wait)) over rtt where timers == coarse).at`:             "20ms",
		`greatest(mean(ms(wait)) over timers, rtt).at`:                         "bsd, 10ms",
		`2 * greatest(mean(losses where seed == 2) over timers)`:               "6",
		`crossing(mean(losses), 1.8 over rtt where timers == coarse)`:          "10ms",
		`crossing(mean(losses), 2.5 over seed where timers == coarse)`:         "2",
		`those(mean(losses) < 2 over rtt where timers == fine)`:                "20ms",
		`those(mean(losses) > 5 over rtt)`:                                     "",
		`slope(losses, seed where timers == coarse)`:                           "1.5",
		`intercept(losses, seed where timers == coarse)`:                       "0",
		`r_squared(losses, seed where timers == coarse and rtt == 20ms)`:       "1",
		`falls(mean(ms(wait)), 1250, ms(rtt) over rtt where timers == coarse)`: "15",
		`all(mean(losses) >= 1 over rtt)`:                                      "yes",
		`all(mean(losses) > 1.5 over timers)`:                                  "no",
		`listing("{rtt}: {mean(losses)}" over rtt where timers == coarse)`:     "10ms: 2, 20ms: 2",
		`listing(timers over timers)`:                                          "bsd, fine",
		`resampled(sum(ms(wait)) / sum(losses) over seed ` +
			`where timers == coarse and rtt == 20ms)`: "600",
		`resampled(twice(mean(losses)) over seed where timers == fine).hi`: "2",
		`resampled(crossing(mean(losses), 4, 9 over seed) over seed)`:      "9",
		`values(timers)`: "bsd, fine",
		`lookup(coarse, 'linux', 1 / 'a', 'bsd', 4)`:                   "4",
		`otherwise(lookup(rate, 1, 2), power(2, 2))`:                   "4",
		`bounds(2, 1, 4).hi + bounds(2, 1, 4)`:                         "6",
		`resampled(mean(losses), 7 over seed where timers == fine).lo`: "1",
		`values(rtt where timers == coarse)`:                           "20ms, 10ms",
		`count(over timers, rtt where losses > 0)`:                     "3",
		`count() - count(where live)`:                                  "4",
		`mean(losses / count())`:                                       "0.32",
		`greatest(losses).timers`:                                      "bsd",
		`"{greatest(mean(losses) over timers, rtt).rtt}"`:              "20ms",
		`count(in waits)`:                                              "3",
		`mean(loss in waits where timers == coarse)`:                   "2",
		`greatest(loss in waits where rtt == 20ms).timers`:             "bsd",
		`mean(wait.hi in waits where timers == fine)`:                  "300",
		`count(in waits over timers)`:                                  "2",
		`listing("{timers} {rtt}" in waits where loss >= 2)`:           "bsd 20ms, bsd 10ms",
		`if(rate > 1, coarse, 1 / 'a')`:                                "bsd",
		`otherwise(mean(losses where seed > 9), 7)`:                    "7",
		`otherwise(0 / 0, 8) + otherwise(0s / 0s, 9)`:                  "17",
		`otherwise(1 / 0 - 1 / 0 <= 7, 'nothing')`:                     "nothing",
		`list(3, 1, 3)`:                          "3, 1",
		`list('a', listing(timers over timers))`: "a, bsd, fine",
		`power(1 - 0.5, 3)`:                      "0.125",
		`next(trips, 11ms) + next(trips, 1s)`:    "40ms",
		`join(trips, "; ")`:                      "10ms; 20ms",
		`floor(1.8)`:                             "1",
		`digits(123456)`:                         "123456",
		`fixed(1.005, 1) + 'x'`:                  "1.0x",
		`seconds(1500ms)`:                        "1.5",
		`all(losses > 0) and not all(losses > 1 where live == false)`:   "yes",
		`among(coarse, 'linux', 'bsd')`:                                 "yes",
		`contains(trips, 20ms)`:                                         "yes",
		`starts('per-segment', "per")`:                                  "yes",
		`first(trips) + last(trips)`:                                    "30ms",
		`item(trips, 1)`:                                                "20ms",
		`mean(item(shares, 1) where timers == coarse and rtt == 20ms)`:  "0.5",
		`listed(": ", trips)`:                                           ": 10ms, 20ms",
		`listed(": ", those(mean(losses) > 5 over rtt))`:                "",
		`min(3, 1, 2)`:                                                  "1",
		`max(trips)`:                                                    "20ms",
		`ceil(1.2) + abs(-1) * (abs(2s - 3s) / 1s)`:                     "3",
		`ms(1500us)`:                                                    "1.5",
		`round(1499us, 1ms)`:                                            "1ms",
		`bytes_time(1000, rate)`:                                        "1ms",
		`twice(mean(losses where timers == fine)) + twice(20ms) / 20ms`: "4",
	} {
		s := testScope(t, "functions: {twice(x): 2 * x}\ngroups: {waits: {each: [timers, rtt], measures: {loss: "+
			"mean(losses), wait: interval(ms(wait))}}}\n")
		e, err := parse(text)
		if err == nil {
			err = s.sheet.Check(thePlan, Columns(wait{}))
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := s.value(e)
		if err != nil || show(got) != want {
			t.Errorf("%s = %v, %v; want %s", text, show(got), err, want)
		}
		for _, o := range operatorList {
			used[o.name()] = used[o.name()] || strings.Contains(text, o.name()+"(")
		}
	}
	for _, o := range operatorList {
		if !used[o.name()] {
			t.Errorf("%s: no expression here uses the operator", o.name())
		}
	}
}

// testScope returns the scope of a claims.yaml over the plan and rows above.
func testScope(t *testing.T, claims string) *scope {
	t.Helper()
	sheet, err := Read(fstest.MapFS{"claims.yaml": {Data: []byte(claims)}}, ".")
	if err != nil {
		t.Fatal(err)
	}
	return newScope(sheet, thePlan, tableOf(theRows))
}

// TestWrongExpressions says what is wrong with expressions, and where.
func TestWrongExpressions(t *testing.T) {
	for text, want := range map[string]string{
		`1 +`:                           "claims.yaml:2: let: x: ",
		`mean(loses)`:                   "loses: no such name, did you mean losses?",
		`avarage(losses)`:               "avarage: no such operator",
		`quantil(losses, 1)`:            "did you mean quantile?",
		`quantile(losses)`:              "want quantile(NUMBER, SHARE where CONDITION)",
		`least(losses over rrt)`:        "over rrt: no such column, did you mean rtt?",
		`mean(losses where rtt == rat)`: "rat: no such name, did you mean rate?",
		`func() {}`:                     "want numbers, durations, texts",
		`1 & 2`:                         "no operator &",
		`'{loses}'`:                     "did you mean losses?",
		`mean(losses where)`:            "want something after in, over and where",
		`mean(losses where a, b)`:       "want one condition after where",
	} {
		sheet, err := Read(fstest.MapFS{"claims.yaml": {Data: fmt.Appendf(nil, "let:\n  x: %q\n", text)}}, ".")
		if err == nil {
			err = sheet.Check(thePlan, Columns(wait{}))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`rtt`:                         "rtt: a column outside of a measure, want an operator such as mean(rtt)",
		`mean(wait)`:                  "a duration, want a number; ms(…) makes one of a duration",
		`20ms + 1`:                    "a duration + a number: no such arithmetic",
		`20ms == 1`:                   "compares a duration with a number",
		`fine.tick`:                   "fine has no value tick",
		`1 and true`:                  "a number in the place of a condition",
		`item(trips, 2)`:              "index 2, want 0 to 1",
		`quantile(losses, 2)`:         "share 2, want 0 to 1",
		`bytes_time(1, 0)`:            "a rate of 0 bit/s, want more than 0",
		`mean(losses where seed > 9)`: "no such rows",
	} {
		e, err := parse(text)
		if err == nil {
			_, err = testScope(t, "let: {}\n").value(e)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

const someClaims = `
let:
  coarse_wait: interval(ms(wait) where timers == coarse and rtt == 20ms)
claims:
  wait:
    class: published
    text: a loss waits {ms(1s)} ms under {coarse}
    published: 1100 ms
    source: A Paper, 1995
    tag: source
    measure: coarse_wait
    unit: ms
    expect: {printed: 1150, unit: ms}
    why: another mix of losses
  wrong:
    like: wait
    basis: of this test
    expect: {within: [1100, 20], unit: ms}
    differs: {at_most: 2000, unit: ms}
  none:
    like: wrong
    differs: {at_most: 30, unit: ms}
    expect: {at_most: 20, unit: ms}
  exact:
    like: wait
    exact: true
    also: {holds: count(where live) > 1, text: and two rows are live}
  words:
    class: law
    text: two timers wait differently
    source: definition
    tag: computed
    measured: "{mean(losses where timers == coarse)} and {mean(losses where timers == fine)}"
    expect: {holds: mean(losses where timers == coarse) > mean(losses where timers == fine), text: the first is greater}
    why: they do not
  few:
    like: words
    seeds: 3
  far:
    like: words
    when: contains(trips, 50ms)
    else: the plan has no round trip of 50 ms
  missing:
    like: wait
    measure: mean(losses where rtt == 1s)
notes:
  always: {text: "{count(where live)} live row"}
  slow: {warning: true, text: "{greatest(wait)} is long"}
  never: {when: "count(where live) > 5", text: never}
  each: {for: trips, when: item > 10ms, text: "a round trip of {item}"}
`

// TestClaims judges claims of each kind of verdict.
func TestClaims(t *testing.T) {
	out := judged(t, someClaims, "tables: {}\n")
	want := map[string]string{
		"wait":    "reproduced 1200 ms, expected 1150 ms ± 10 %",
		"wrong":   "differs 1200 ms, expected 1100 ± 20 ms; at most 2000 ms differs",
		"none":    "not reproduced 1200 ms, expected at most 20 ms; at most 30 ms differs",
		"exact":   "not reproduced 1200 ms, expected 1150 ms ± 10 %, and two rows are live",
		"words":   "reproduced 2 and 1, expected the first is greater",
		"few":     "too few seeds to tell 2 and 1, expected the first is greater: 2 seeds, and the verdict needs 3",
		"far":     "not applicable here -, expected -: the plan has no round trip of 50 ms",
		"missing": "not applicable here -, expected -: the plan has no such rows: mean(losses where rtt == 1s)",
	}
	for _, c := range out.Claims {
		got := fmt.Sprintf("%s %v, expected %v", c.Verdict, c.Measured, c.Expected)
		if c.Verdict == experiments.NotApplicable || c.Verdict == experiments.TooFew {
			got += ": " + c.Why
		}
		if got != want[c.Name] {
			t.Errorf("%s: %s, want %s", c.Name, got, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("no claims %v", want)
	}
	if text := out.Claims[0].Text; text != "a loss waits 1000 ms under bsd" {
		t.Errorf("text %q", text)
	}
	if c := out.Claims[3]; c.Name != "exact" || !c.Measured.Exact {
		t.Errorf("%s: not exact", c.Name)
	}
	if out.Claims[0].Measured.Lo == nil || out.Claims[1].Why != "another mix of losses" {
		t.Errorf("the interval or the reason is missing: %+v", out.Claims[:2])
	}
	if !slices.Equal(out.Notes, []string{"1 live row", "a round trip of 20ms"}) ||
		!slices.Equal(out.Warnings, []string{"1.4s is long"}) {
		t.Errorf("notes %q, warnings %q", out.Notes, out.Warnings)
	}
}

func judged(t *testing.T, claims, figures string) *experiments.Outcome {
	t.Helper()
	files := fstest.MapFS{"claims.yaml": {Data: []byte(claims)}, "figures.yaml": {Data: []byte(figures)}}
	out, err := Judge[waitPlan, wait](files, ".")(thePlan, theRows)
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTablesAndFigures draws a table with a column for each value of a list, and lines over rows
// and over a function.
func TestTablesAndFigures(t *testing.T) {
	out := judged(t, someClaims, `
tables:
  waits:
    title: Waits under {coarse} and others
    where: not live
    each: [timers, rtt]
    columns:
      timers: timers
      "rtt, ms": ms(rtt)
      wait, ms: mean(ms(wait))
      hidden: {when: count(trips) > 5, value: 1}
      "{item}": {for: trips, value: "count(where rtt == item)"}
      none: mean(losses where seed == 9)
  absent: {title: none, when: "count(trips) > 5", each: timers, columns: {a: 1}}
  published:
    title: Next to constants
    each: rtt
    rising: true
    data: count(trips) > 1
    above: [["'printed'", 2 * 3, "''"]]
    columns:
      "rtt, ms": ms(rtt)
      first: {columns: {losses: sum(losses)}}
      second: {columns: {losses: count()}}
figures:
  waits:
    title: Waits
    x: {label: "seed"}
    y: {label: "wait, ms", from: 0, to: 2 * 1000}
    marks: [{label: floor, y: ms(fine.floor)}]
    series:
      - {name: "{timers}", where: rtt == 20ms, lines: timers, over: seed, x: seed, y: interval(ms(wait))}
      - {name: model, dashed: true, over: t, from: 1, to: 2, step: 0.5, x: t, y: 1000 * t}
  laws:
    title: Laws
    x: {label: seeds above 1, log: true}
    y: {label: "wait, ms"}
    marks: [{for: trips, label: "{item}", x: ms(item)}]
    series:
      - {name: "{timers}", lines: timers, group: timers, marker: timers, over: seed, x: seed - 1, y: mean(ms(wait)),
         law: 1000 * seed}
      - {name: tail, kind: steps, group: 7, over: losses, x: losses, tail: losses}
      - for: list('fine', 'bsd')
        series:
          - {name: "{timers}, ends", group: index + 3, where: timers == item, over: x, at: "list(1, 3)", x: x,
             lines: timers, y: x * count()}
  bars:
    title: Bars
    x: {label: timers, ticks: "{timers}"}
    y: {label: losses}
    series:
      - {name: losses, kind: bars, group: 1, over: timers, y: sum(losses)}
  grid:
    title: Grid
    x: {label: seed}
    y: {label: "rtt, ms"}
    grid: {where: timers == coarse and rtt == 20ms, across: seed, up: rtt, value: sum(losses), text: "{sum(losses)}",
           log: true, from: 1, to: count() * 2, labels: {up: "{ms(rtt)} ms"}}
  classes:
    like: grid
    grid: {where: rtt == 20ms, across: seed, up: timers, class: "if(timers == coarse, 'old', 'new')",
           classes: "list('old', 'new')"}
  hole:
    like: grid
    grid: {across: seed, up: rtt, value: mean(losses where not live)}
  shares:
    title: Shares
    x: {label: losses}
    y: {label: share}
    series:
      - {name: shares, kind: steps, where: timers == coarse, share: losses}
      - {name: tries, kind: steps, share: tries, points: 1, where: timers == coarse and not live}
      - {name: quantiles, kind: steps, over: part, at: "list(0, 1, 2, 4)", x: "quantile(losses, part / 4)", y: part}
`)
	if len(out.Tables) != 2 || len(out.Figures) != 6 {
		t.Fatalf("%d tables, %d figures, want 2 and 6", len(out.Tables), len(out.Figures))
	}
	for i, want := range map[int]string{
		1: "bsd 1 1 [1] [1400]; bsd, law 1 0 [1] [2000]; fine 2 2 [1] [300]; fine, law 2 0 [1] [2000]; " +
			"tail 7 0 [1 2 3] [1 0.625 0.375]; fine, ends 3 0 [1 3] [2 6]; bsd, ends 4 0 [1 3] [3 9]; [{10ms 10 true} {20ms " +
			"20 true}] []",
		2: "losses 1 0 [0 1] [6 2]; [] [bsd fine]",
		5: "shares 0 0 [1 2 3] [0.3333333333333333 0.6666666666666666 1]; tries 0 0 [1 3] [0.3333333333333333 1]; " +
			"quantiles 0 0 [1 3] [2 4]; [] []",
	} {
		f, got := out.Figures[i], ""
		for _, s := range f.Series {
			got += fmt.Sprint(s.Name, " ", s.Group, s.Marker, s.X, s.Y, "; ")
		}
		if got += fmt.Sprint(f.Marks, f.X.Ticks); got != want {
			t.Errorf("figure %s: %s, want %s", f.Name, got, want)
		}
	}
	for i, want := range map[int]string{
		3: "{[1 2] [20 ms] [[1 3]] true 1 10 [] [] [[1 3]]}",
		4: "{[1 2] [bsd fine] [] false 0 0 [[0 0] [1 1]] [old new] []}",
	} {
		if got := fmt.Sprint(*out.Figures[i].Map); got != want {
			t.Errorf("figure %s: %s, want %s", out.Figures[i].Name, got, want)
		}
	}
	got := fmt.Sprint(out.Tables[0].Title, "; ", out.Tables[0].Columns, out.Tables[0].Rows)
	if want := "Waits under bsd and others; [timers rtt, ms wait, ms 10ms 20ms none] [[bsd 20 1200 0 2 ] [fine 20 200 " +
		"0 2 ]]"; got != want {
		t.Errorf("table %s, want %s", got, want)
	}
	if out.Tables[0].Data || !out.Tables[1].Data {
		t.Error("want the second table as data, and not the first")
	}
	got = fmt.Sprint(out.Tables[1].Columns, out.Tables[1].Rows)
	if want := "[rtt, ms losses losses] [[printed 6 ] [10 2 1] [20 6 4]]"; got != want {
		t.Errorf("table %s, want %s", got, want)
	}
	f := out.Figures[0]
	got = fmt.Sprintln(f.Y.Hi, f.Marks, f.Series[0].Name, f.Series[0].X, f.Series[0].Y, f.Series[2].Name, f.Series[2].X,
		f.Series[2].Y, f.Series[2].Dashed)
	if want := "2000 [{floor 200 false}] bsd [1 2] [1000 1400] model [1 1.5 2] [1000 1500 2000] true\n"; got != want {
		t.Errorf("figure %s, want %s", got, want)
	}
}

// TestWrongFiles names file, line and key of what is wrong.
func TestWrongFiles(t *testing.T) {
	claim := func(lines string) string {
		return "claims:\n  a:\n    class: law\n    text: t\n    source: s\n    tag: computed\n    measure: " +
			"mean(losses)\n" + lines
	}
	for _, c := range []struct{ claims, figures, want string }{
		{"clams: {}\n", "", "claims.yaml:1: clams: no such key, did you mean claims?, want one of question, found, rows, " +
			"let, functions, groups, claims, notes"},
		{claim("    expected: {at_most: 1}\n"), "", "claims.yaml:8: claims: a: expected: no such key, did you mean expect?"},
		{claim(""), "", "claims.yaml:2: claims: a: want expect"},
		{claim("    expect: {at_most: 1, below: 2}\n"), "", "claims: a: expect: 2 rules, want one of"},
		{claim("    expect: {atmost: 1}\n"), "", "claims.yaml:8: claims: a: expect: atmost: no such key, did you mean " +
			"at_most?"},
		{claim("    expect: {holds: 1 > 0, text: one, and two}\n"), "", "expect: and two: no such key"},
		{claim("    expect: {exactly: 1}\n"), "", "claims.yaml:2: claims: a: want why"},
		{claim("    expect: {at_most: 1}\n"), "", "want basis: where the numbers of expect come from"},
		{strings.Replace(claim("    expect: {exactly: 1}\n"), "    text: t\n", "", 1), "", "want text"},
		{strings.Replace(claim("    expect: {exactly: 1}\n"), "law", "published", 1), "", "no published one"},
		{"found: 'waits {as}.'\n" + claim("    expect: {exactly: 1}\n"), "", "claims.yaml:1: found: {as}: no such claim"},
		{"let: {n: count(where timers == bsd)}\n", "", "bsd: no such name, and a text has quotes: 'bsd'."},
		{claim("    expect: {between: [1]}\n"), "", "1 numbers, want two"},
		{claim("    expect: {holds: true}\n"), "", "holds needs a text"},
		{claim("    expect: {at_most: 1}\n    when: true\n"), "", "when needs else"},
		{"claims: {a: {}, a: {}}\n", "", "claims.yaml"},
		{strings.Replace(claim("    expect: {at_most: 1}\n"), "law", "own", 1), "",
			`claims.yaml:3: claims: a: class: "own", want one of published, law, check`},
		{"claims: {b: {like: a}}\n", "", `b: like: "a", want a claim above`},
		{"functions: {mean(x): x}\n", "", "mean: an operator has that name"},
		{"functions: {f: x}\n", "", "f: want a name and parameters, such as model(t)"},
		{"let: {losses: 1}\n", "", "claims.yaml:1: let: losses: a column has that name"},
		{"let: {lost: 1}\n", "tables: {t: {title: x, each: timer, columns: {a: 1}}}\n",
			"figures.yaml:1: tables: t: each: timer: no such column, did you mean timers?"},
		{"let: {}\n", "tables: {t: {title: 'x {', columns: {a: 1}}}\n", "a { without its }"},
		{"let: {}\n", "tables: {t: {title: x, above: [[1]], each: seed, columns: {a: 1, b: {interval: interval(losses)}}}}\n",
			"figures.yaml:1: tables: t: above: 1 values, want one for each of 4 columns"},
		{"let: {}\n", "figures: {f: {series: [{over: sead, x: seed, y: 1}]}}\n", "series: sead: no such column, did you " +
			"mean seed?"},
		{"let: {}\n", "figures: {f: {title: t, x: {label: x}, y: {label: y}, series: [{kind: dotz, over: seed, x: seed, " +
			"y: 1}]}}\n", `kind: "dotz", want one of line steps points bars dots links spans`},
		{"let: {}\n", "figures: {f: {series: []}}\n", "figures.yaml:1: figures: f: want title"},
		{"let: {n: 'least(ms(rtt'}\n", "", "not an expression: a ) is missing"},
		{"let: {}\n", "tables: {t: {columns: {a: 1}}}\n", "figures.yaml:1: tables: t: want title"},
		{"let: [1]\n", "", "claims.yaml:1: let: want a mapping"},
		{"let: {n: max(rtt)}\n", "", "claims.yaml:1: let: n: rtt: a column outside of a measure"},
		{"let: {}\n", "tables: {t: {title: x, for: seed, columns: {a: 1}}}\n",
			"figures.yaml:1: tables: t: seed: a column outside of a measure"},
		{"", "", "claims.yaml: empty, want a mapping"},
		{"a: b: c\n", "", "claims.yaml: not YAML"},
		{"let:\n  a: 1\n b: 2\n", "", "claims.yaml:3: not YAML"},
	} {
		sheet, err := Read(fstest.MapFS{"claims.yaml": {Data: []byte(c.claims)},
			"figures.yaml": {Data: []byte("tables: {}\n" + c.figures)}}, ".")
		if c.figures != "" {
			sheet, err = Read(fstest.MapFS{"claims.yaml": {Data: []byte(c.claims)}, "figures.yaml": {Data: []byte(c.figures)}},
				".")
		}
		if err == nil {
			err = sheet.Check(thePlan, Columns(wait{}))
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %s", c.claims, c.figures, err, c.want)
		}
	}
}

// TestColumns lists the columns of a row with their units.
func TestColumns(t *testing.T) {
	var got []string
	type timing struct {
		wait
		Took stat.Interval `json:"took" unit:"ns"`
	}
	for _, c := range Columns(timing{}) {
		got = append(got, strings.TrimSpace(c.Name+" "+c.Kind+" "+c.Unit+" "+c.Help))
	}
	want := []string{"timers a text", "rtt a duration  of the idle path", "seed a number", "wait a duration",
		"losses a number segments", "shares a list", "live yes or no", "tries a sample", "took an interval ns"}
	if !slices.Equal(got, want) {
		t.Errorf("columns %q, want %q", got, want)
	}
}

// FuzzExpression checks that no text makes the parser or an operator panic.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"mean(losses where timers == coarse)", "1s / (2 - 2)", `"{coarse}" + 'x'`,
		"least(mean(losses) over rtt).at", "item(trips, -1)", "min()", "among()", "__span(1)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parse(text)
		if err != nil {
			return
		}
		s := testScope(t, "let: {}\n")
		n := &names{sheet: s.sheet, values: map[string]bool{"coarse": true, "fine": true, "rate": true, "trips": true},
			columns: s.table.names}
		if n.check(e.tree, nil) == nil {
			s.value(e)
		}
	})
}
