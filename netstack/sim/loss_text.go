package sim

import (
	"fmt"
	"strconv"
	"strings"

	"tcpwheel/internal/quantity"
)

// Losses are the loss models of a link. A packet is lost if one of them loses it; every model sees
// every packet. The text form, also in JSON, is "none", or models joined by ";":
//
//	0.01, 1%, bernoulli:0.01                       Bernoulli; 0 is none
//	gilbert-elliott:p=0.01,r=0.3,good=0,bad=1      GilbertElliott; good=0 and bad=1 are the defaults
//	packets:3,7-9                                  PacketNumbers
//	outages:1s-2s,5s-5.5s                          Outages
//	trace:00101, trace:00101*                      Trace; the star repeats it
//	ranges:1000-2000@1,3000-4000@2                 Ranges: from-to@attempt
type Losses []Loss

// maxNumbers bounds the length of PacketNumbers.
const maxNumbers = 1 << 20

// String returns the text that ParseLosses reads.
func (l Losses) String() string {
	if len(l) == 0 {
		return "none"
	}
	texts := make([]string, len(l))
	for i, m := range l {
		texts[i] = m.String()
	}
	return strings.Join(texts, ";")
}

// MarshalText returns what String does.
func (l Losses) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText calls ParseLosses.
func (l *Losses) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLosses(string(text))
	return err
}

// Check returns the error of the first model that has one.
func (l Losses) Check() error {
	for _, m := range l {
		if m == nil {
			return fmt.Errorf("sim: loss nil, want a model")
		}
		if err := m.Check(); err != nil {
			return fmt.Errorf("sim: loss: %w", err)
		}
	}
	return nil
}

// ParseLosses reads the text form of Losses and checks it. It never panics.
func ParseLosses(text string) (losses Losses, err error) {
	if text = strings.TrimSpace(text); text == "" || text == "none" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		name, args, hasArgs := strings.Cut(part, ":")
		parse := lossParsers[name]
		if p, err := quantity.ParseProbability(part); !hasArgs && err == nil {
			if p != 0 {
				losses = append(losses, Bernoulli{p})
			}
			continue
		}
		if parse == nil {
			return nil, fmt.Errorf("%q, want %s", part, LossAllowed)
		}
		m, err := parse(args)
		if err == nil {
			err = m.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		losses = append(losses, m)
	}
	return losses, nil
}

// LossAllowed says what ParseLosses accepts.
const LossAllowed = "none, a probability such as 0.02 or 2%, or models joined by ; such as bernoulli:0.01, " +
	"gilbert-elliott:p=0.01,r=0.3, packets:3,7-9, outages:1s-2s, trace:00101*, ranges:1000-2000@1"

var lossParsers = map[string]func(args string) (Loss, error){
	"bernoulli": func(args string) (Loss, error) {
		p, err := quantity.ParseProbability(args)
		if err != nil {
			err = fmt.Errorf("probability %w", err)
		}
		return Bernoulli{p}, err
	},
	"gilbert-elliott": parseGilbertElliott,
	"packets":         parsePacketNumbers,
	"outages":         parseOutages,
	"trace": func(args string) (Loss, error) {
		bits, repeat := strings.CutSuffix(args, "*")
		return Trace{bits, repeat}, nil
	},
	"ranges": parseRanges,
}

func parseUint(field, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %q, want a whole number", field, text)
	}
	return n, nil
}

func parseGilbertElliott(args string) (Loss, error) {
	l := GilbertElliott{P: -1, R: -1, Bad: 1}
	fields := map[string]*float64{"p": &l.P, "r": &l.R, "good": &l.Good, "bad": &l.Bad}
	for arg := range strings.SplitSeq(args, ",") {
		name, value, _ := strings.Cut(arg, "=")
		field := fields[name]
		if field == nil {
			return nil, fmt.Errorf("field %q, want each of p, r, good and bad at most once", name)
		}
		delete(fields, name)
		p, err := quantity.ParseProbability(value)
		if err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
		*field = p
	}
	if fields["p"] != nil || fields["r"] != nil {
		return nil, fmt.Errorf("%q, want p and r", args)
	}
	return l, nil
}

func parsePacketNumbers(args string) (Loss, error) {
	var l PacketNumbers
	for arg := range strings.SplitSeq(args, ",") {
		first, last, isRange := strings.Cut(arg, "-")
		from, err := parseUint("packet number", first)
		to := from
		if err == nil && isRange {
			to, err = parseUint("packet number", last)
		}
		if err != nil {
			return nil, err
		}
		if to < from || to-from >= maxNumbers-uint64(len(l)) {
			return nil, fmt.Errorf("packet numbers %q, want first-last in rising order, at most %d numbers in all", arg, maxNumbers)
		}
		for k := from; ; k++ {
			if l = append(l, k); k == to {
				break
			}
		}
	}
	return l, nil
}

func parseOutages(args string) (Loss, error) {
	var l Outages
	for arg := range strings.SplitSeq(args, ",") {
		from, to, _ := strings.Cut(arg, "-")
		f, err1 := quantity.ParseDuration(from)
		t, err2 := quantity.ParseDuration(to)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("outage %q, want from-to such as 1s-1.5s", arg)
		}
		l = append(l, Window{f, t})
	}
	return l, nil
}

func parseRanges(args string) (Loss, error) {
	var l LostRanges
	for arg := range strings.SplitSeq(args, ",") {
		span, attempt, _ := strings.Cut(arg, "@")
		from, to, _ := strings.Cut(span, "-")
		f, err := parseUint("range start", from)
		if err != nil {
			return nil, err
		}
		t, err := parseUint("range end", to)
		if err != nil {
			return nil, err
		}
		k, err := strconv.ParseUint(attempt, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("attempt %q, want a number from 1 to 2^32-1", attempt)
		}
		l = append(l, LostRange{f, t, uint32(k)})
	}
	return l, nil
}
