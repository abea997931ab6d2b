package experiments

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// Outcome is the result of a study.
type Outcome struct {
	Claims  []Claim         `json:"claims"`
	Tables  []Table         `json:"tables"`
	Figures []figure.Figure `json:"figures,omitempty"`
	// Notes are paragraphs: why a figure differs, and other observations.
	Notes []string `json:"notes,omitempty"`
	// Warnings say what keeps the results from being taken as they are, such as a limit that runs hit.
	// Pages show them first.
	Warnings []string `json:"warnings,omitempty"`
	// Records are the runs for other programs, nil if the study has none.
	Records *Records `json:"-"`
}

// Verdict is the verdict on a claim.
type Verdict string

// The verdicts.
const (
	Reproduced    Verdict = "reproduced"     // within the band set beforehand
	Differs       Verdict = "differs"        // the effect is there, with a size outside the band
	NotReproduced Verdict = "not reproduced" // the effect is absent, or the claim is falsified
	// NotApplicable is the verdict on a claim that a plan leaves without meaning, or without the runs
	// that it compares. Why says what is missing.
	NotApplicable Verdict = "not applicable here"
	// TooFew is the verdict of a quick run on a claim that more seeds may judge otherwise.
	TooFew Verdict = "too few seeds to tell"
)

// Tag is the source of a figure.
type Tag string

// The tags. There is none for a recalled and unchecked figure: it is never shown as published.
const (
	FromSource Tag = "source"   // read in the text of the paper
	FromPrint  Tag = "document" // read in a published document, public source code or its summary
	Computed   Tag = "computed" // computed for this project from the definition
	Standard   Tag = "standard" // the text of an RFC
)

// ClaimClass says what a claim compares its measure with.
type ClaimClass string

// The classes of claims. Only results of others count in the headline.
const (
	OfOthers ClaimClass = "published" // a number or an order that somebody else printed
	Law      ClaimClass = "law"       // a rule or a band that this project set
	Check    ClaimClass = "check"     // a definition or self-consistency: a test of the study
)

// Read says how much of a claim's source this project has read.
type Read string

// The readings of a source.
const (
	ReadPaper    Read = "paper"    // its text: a paper, a standard or a draft
	ReadAbstract Read = "abstract" // its abstract alone
	ReadSummary  Read = "summary"  // what others say of it
	ReadCode     Read = "code"     // the authors' program
	ReadNothing  Read = "none"     // it is cited as others cite it
)

// Look is an independent look at a claim before it counts: what its source says word for word, and
// what turns the verdict.
type Look struct {
	Read  Read   `json:"read,omitempty"`
	At    string `json:"at,omitempty"`    // page, section, table or file
	Quote string `json:"quote,omitempty"` // word for word
	Turns string `json:"turns,omitempty"` // parameters that turn the verdict, as tried
}

// Claim is a published figure, or a law, next to the measured value.
type Claim struct {
	Name      string     `json:"name"`                // unique within the study
	Text      string     `json:"text"`                // the claim, one line
	Published string     `json:"published,omitempty"` // as in the source; "" for a shape
	Source    string     `json:"source"`              // where it is published
	Tag       Tag        `json:"tag"`
	Class     ClaimClass `json:"class"`
	Measured  Measure    `json:"measured"`
	Expected  Band       `json:"expected"`
	// Basis says where the numbers of Expected come from. "" is the basis of Expected itself.
	Basis   string  `json:"basis,omitempty"`
	Look    Look    `json:"look,omitzero"`
	Verdict Verdict `json:"verdict"`       // set by Outcome.Claim
	Why     string  `json:"why,omitempty"` // why it has no verdict
	// P is the probability of a measure at least so far from the nearest border of the verdict, if the
	// truth were on that border. It is nil without an interval. See SettleVerdicts.
	P *float64 `json:"p,omitempty"`
	// Unsettled marks a verdict that chance may have decided.
	Unsettled bool `json:"unsettled,omitempty"`
	// Needs says what a verdict needs that the plan does not have, such as ten seeds. "" is nothing.
	Needs string `json:"-"`
	// Unless says why a plan leaves the claim without meaning. "" is a claim that applies.
	Unless string `json:"-"`
	// Doubted marks a published figure that this project holds to be wrong: an exact study that does
	// not reproduce it is no violation.
	Doubted bool `json:"doubted,omitempty"`
}

// Claim judges a claim by its Measured and Expected, and adds it.
func (o *Outcome) Claim(c Claim) {
	c.Verdict = c.Expected.Judge(c.Measured)
	if c.Basis == "" {
		c.Basis = c.Expected.basis
	}
	c.P = c.Expected.chance(c.Measured)
	if c.Needs != "" {
		c.Verdict, c.Why = TooFew, c.Needs
	}
	o.Claims = append(o.Claims, c)
}

// Judge judges claims by their Measured and Expected, and adds them. One that a plan leaves without
// meaning, or without rows to measure, is not applicable.
func (o *Outcome) Judge(claims ...Claim) {
	for _, c := range claims {
		switch {
		case c.Unless != "":
			o.NotApplicable(c, c.Unless)
		case math.IsNaN(c.Measured.Value):
			o.NotApplicable(c, "the plan has no runs that it is about")
		default:
			o.Claim(c)
		}
	}
}

// VerdictText returns the verdict in words: a result of others is reproduced or not, a law or check
// of this project holds or does not.
func (c Claim) VerdictText() string {
	switch {
	case c.Class == OfOthers:
	case c.Verdict == Reproduced:
		return "holds"
	case c.Verdict == NotReproduced:
		return "does not hold"
	}
	return string(c.Verdict)
}

// NotApplicable adds a claim that the plan leaves without meaning, with the reason.
func (o *Outcome) NotApplicable(c Claim, reason string) {
	c.Verdict, c.Why = NotApplicable, reason
	c.Measured, c.Expected = MeasuredText("-"), Band{text: "-"}
	o.Claims = append(o.Claims, c)
}

// Measure is a measured number with its 95 % interval, or words if one number does not say it.
type Measure struct {
	Value float64  `json:"value,omitempty"`
	Lo    *float64 `json:"lo,omitempty"`
	Hi    *float64 `json:"hi,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	Text  string   `json:"text,omitempty"` // in place of the number
	// Exact says that nothing in the number was drawn, so no other seed gives another.
	Exact bool `json:"exact,omitempty"`

	judged float64 // the number that a Band judges, NaN if there is none
}

// Measured returns a number without an interval.
func Measured(value float64, unit string) Measure {
	return Measure{Value: value, Unit: unit, judged: value}
}

// MeasuredSpan returns a time without an interval, in milliseconds.
func MeasuredSpan(d time.Duration) Measure { return Measured(d.Seconds()*1e3, "ms") }

// MeasuredWithin returns a number with its interval.
func MeasuredWithin(in stat.Interval, unit string) Measure {
	return Measure{Value: in.Value, Lo: &in.Lo, Hi: &in.Hi, Unit: unit, judged: in.Value}
}

// MeasuredText returns a measure in words.
func MeasuredText(format string, args ...any) Measure {
	return Measure{Text: fmt.Sprintf(format, args...), judged: math.NaN()}
}

// Judging returns m with the number that a Band judges, for a measure whose words do not say it.
func (m Measure) Judging(x float64) Measure {
	m.judged = x
	return m
}

// String returns the number with four significant digits and its unit.
func (m Measure) String() string {
	if m.Text != "" {
		return m.Text
	}
	return strings.TrimSpace(Number(m.Value) + " " + m.Unit)
}

// Interval returns the interval as text: "exact" for a number that no seed changes, "" for words
// and for a number without an interval.
func (m Measure) Interval() string {
	switch {
	case m.Text != "":
		return ""
	case m.Exact:
		return "exact"
	case m.Lo == nil:
		return ""
	}
	return Number(*m.Lo) + " to " + Number(*m.Hi)
}

// Number formats a number with four significant digits, and whole numbers in full, in groups of
// three digits.
func Number[T stat.Number](number T) string { return Significant(float64(number), 4) }

// Significant is Number with so many significant digits.
func Significant(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'g', digits, 64)
	if a := math.Abs(x); a == 0 || a >= 1e-4 && a < 1e15 {
		decimals := 0
		if a > 0 && a < 1000 {
			decimals = digits - 1 - int(math.Floor(math.Log10(a)))
		}
		text = strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
	}
	return grouped(text)
}

func grouped(text string) string {
	whole, rest, dot := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole, "-")
	if len(digits) < 5 || strings.ContainsAny(text, "eIN") {
		return text
	}
	out := whole[:len(whole)-len(digits)]
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out += ","
		}
		out += digits[i : i+1]
	}
	if dot {
		out += "." + rest
	}
	return out
}

// Check returns an error if a part of the outcome is missing.
func (o *Outcome) Check() error {
	names := map[string]bool{}
	for _, c := range o.Claims {
		switch {
		case c.Name == "" || names["claim "+c.Name]:
			return fmt.Errorf("claim %q: want a name of its own", c.Name)
		case c.Text == "" || c.Source == "" || c.Expected.text == "":
			return fmt.Errorf("claim %s: want text, source and what was expected", c.Name)
		case c.Tag != FromSource && c.Tag != FromPrint && c.Tag != Computed && c.Tag != Standard:
			return fmt.Errorf("claim %s: tag %q", c.Name, c.Tag)
		case c.Class != OfOthers && c.Class != Law && c.Class != Check:
			return fmt.Errorf("claim %s: class %q", c.Name, c.Class)
		case c.Class == OfOthers && c.Tag == Computed:
			return fmt.Errorf("claim %s: a figure of this project is not published by others", c.Name)
		case (c.Verdict == NotApplicable || c.Verdict == TooFew) && c.Why == "":
			return fmt.Errorf("claim %s: %s, and no word on why", c.Name, c.Verdict)
		case c.Verdict == NotApplicable || c.Verdict == TooFew:
		case c.Basis == "" && (c.Class == OfOthers || c.Class == Law && len(c.Expected.edges) > 0):
			return fmt.Errorf("claim %s: want the basis of its band", c.Name)
		case c.Verdict != Reproduced && c.Verdict != Differs && c.Verdict != NotReproduced:
			return fmt.Errorf("claim %s: verdict %q", c.Name, c.Verdict)
		case math.IsNaN(c.Measured.Value) || math.IsInf(c.Measured.Value, 0):
			return fmt.Errorf("claim %s: measured %v", c.Name, c.Measured.Value)
		}
		names["claim "+c.Name] = true
	}
	for _, t := range o.Tables {
		if t.Name == "" || names["table "+t.Name] || len(t.Columns) == 0 {
			return fmt.Errorf("table %q: want a name of its own, and columns", t.Name)
		}
		names["table "+t.Name] = true
		for i, r := range t.Rows {
			if len(r) != len(t.Columns) {
				return fmt.Errorf("table %s, row %d: %d values in %d columns", t.Name, i+1, len(r), len(t.Columns))
			}
		}
	}
	for i := range o.Figures {
		f := &o.Figures[i]
		if names["figure "+f.Name] {
			return fmt.Errorf("figure %s appears twice", f.Name)
		}
		names["figure "+f.Name] = true
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}
