package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// near fails unless got is within the relative tolerance of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tolerance)
	}
}

func TestBernoulliLosesItsShare(t *testing.T) {
	const n = 1_000_000
	for _, p := range []float64{0.001, 0.01, 0.3} {
		d, lost, pairs, last := Bernoulli{p}.Start(7), 0, 0, false
		for k := range uint64(n) {
			now := d.Lost(0, k+1, &Packet{})
			if now {
				lost++
			}
			if now && last {
				pairs++
			}
			last = now
		}
		sigma := math.Sqrt(n * p * (1 - p))
		if math.Abs(float64(lost)-n*p) > 4*sigma {
			t.Errorf("p %v: lost %d of %d, want %v within 4 sigma of %v", p, lost, n, n*p, sigma)
		}
		// Independent losses: two in a row have probability p².
		if p*p*n > 50 {
			near(t, "pairs", float64(pairs), n*p*p, 0.3)
		}
	}
	never, always := Bernoulli{0}.Start(7), Bernoulli{1}.Start(7)
	for k := range uint64(10_000) {
		if never.Lost(0, k, &Packet{}) || !always.Lost(0, k, &Packet{}) {
			t.Fatalf("packet %d: probability 0 lost it, or 1 did not", k)
		}
	}
}

func TestGilbertElliottAgreesWithTheory(t *testing.T) {
	const n = 2_000_000
	for _, l := range []GilbertElliott{
		{P: 0.01, R: 0.25, Bad: 1}, {P: 0.002, R: 0.05, Bad: 1}, {P: 0.05, R: 0.2, Good: 0.01, Bad: 0.6},
	} {
		d, lost, bursts, inBurst := l.Start(11), 0, 0, false
		for k := range uint64(n) {
			now := d.Lost(0, k+1, &Packet{})
			if now {
				lost++
			}
			if now && !inBurst {
				bursts++
			}
			inBurst = now
		}
		// The stationary distribution of the chain: P/(P+R) bad, R/(P+R) good.
		near(t, l.String()+": loss", float64(lost)/n, (l.R*l.Good+l.P*l.Bad)/(l.P+l.R), 0.04)
		if l.Good == 0 && l.Bad == 1 { // a burst is a stay in the bad state
			near(t, l.String()+": burst", float64(lost)/float64(bursts), 1/l.R, 0.04)
		}
	}
}

// lostOf returns which of n packets l loses, sent a second apart.
func lostOf(l Loss, n uint64) (lost []uint64) {
	d := l.Start(1)
	for k := uint64(1); k <= n; k++ {
		if d.Lost(wheel.Time(k)*wheel.Time(time.Second), k, &Packet{}) {
			lost = append(lost, k)
		}
	}
	return lost
}

func TestDeterminateLosses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"packets:3,7-9", "packets:3,7-9"},
		{"outages:2s-4s,6s-6.5s", "packets:2-3,6"}, // without its end
		{"trace:00101", "packets:3,5"},
		{"trace:001*", "packets:3,6,9"},
	} {
		l, err := ParseLosses(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := PacketNumbers(lostOf(l[0], 10)).String(); got != test.want {
			t.Errorf("%s loses %s, want %s", test.text, got, test.want)
		}
	}
}

func TestRangesLoseTransmissions(t *testing.T) {
	l, err := ParseLosses("ranges:1000-2000@1,5000-6000@1,1500-3000@1,1000-2000@2")
	if err != nil {
		t.Fatal(err)
	}
	d := l[0].Start(0)
	for _, test := range []struct {
		start, end uint64
		attempt    uint32
		want       bool
	}{
		{0, 1000, 1, false}, {0, 1001, 1, true}, {1999, 2001, 1, true}, {2999, 3000, 1, true}, {3000, 4000, 1, false},
		{4000, 9000, 1, true}, {6000, 7000, 1, false}, {1000, 2000, 2, true}, {2000, 3000, 2, false}, {1000, 2000, 3, false},
	} {
		if got := d.Lost(0, 1, &Packet{Start: test.start, End: test.end, Attempt: test.attempt}); got != test.want {
			t.Errorf("attempt %d of [%d, %d): lost %v, want %v", test.attempt, test.start, test.end, got, test.want)
		}
	}
}

func TestAProbabilityIsALossModel(t *testing.T) {
	for text, want := range map[string]string{
		"0.02": "bernoulli:0.02", "2%": "bernoulli:0.02", "bernoulli:2%": "bernoulli:0.02", "0": "none", "0%": "none", "": "none",
		"1e-3; packets:3": "bernoulli:0.001;packets:3", "gilbert-elliott:p=1%,r=30%": "gilbert-elliott:p=0.01,r=0.3,good=0,bad=1",
	} {
		if l, err := ParseLosses(text); err != nil || l.String() != want {
			t.Errorf("ParseLosses(%q) = %v, %v, want %s", text, l, err, want)
		}
	}
}

func TestLossTextsAreRead(t *testing.T) {
	for _, text := range []string{
		"none", "bernoulli:0.01", "bernoulli:1e-05", "gilbert-elliott:p=0.01,r=0.3,good=0,bad=1", "packets:1,3-4,18446744073709551615",
		"outages:1ms-1.5s,2s-1h0m0s", "trace:0101;bernoulli:0.5", "ranges:0-18446744073709551615@4294967295",
	} {
		l, err := ParseLosses(text)
		if err != nil || l.String() != text {
			t.Errorf("ParseLosses(%q) = %v, %v, want the same", text, l, err)
		}
	}
}

func TestLossErrorsNameFieldValueAndBound(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"bernoulli:1.5", `"bernoulli:1.5": probability "1.5", want a probability from 0 to 1`},
		{"bernoulli:NaN", `probability "NaN", want a probability from 0 to 1`},
		{"bernoulli:x", `probability "x", want a probability from 0 to 1`},
		{"poisson:1", `"poisson:1", want none, a probability such as 0.02 or 2%, or models`},
		{"gilbert-elliott:p=0.1", "want p and r"},
		{"gilbert-elliott:p=0.1,p=0.2,r=1", `field "p", want each of`},
		{"gilbert-elliott:p=0.1,r=-1", `r "-1", want a probability from 0 to 1`},
		{"packets:0", "packet number 0, want numbers from 1"},
		{"packets:3,3", "packet number 3, want"},
		{"packets:1-18446744073709551615", "at most 1048576 numbers"},
		{"packets:5-4", "want first-last in rising order"},
		{"outages:2s-1s", "outage 2s-1s, want windows that are not empty"},
		{"outages:1s", "want from-to"},
		{"1.5", `"1.5", want none, a probability`},
		{"trace:012", "trace bit 2 is '2', want 0 or 1"},
		{"trace:", "trace of 0 bits, want 1 at least"},
		{"ranges:2-2@1", "range end 2, want above its start 2"},
		{"ranges:1-2@0", "range attempt 0, want 1 at least"},
		{"ranges:1-2", `attempt "", want`},
	} {
		if _, err := ParseLosses(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("ParseLosses(%q): error %v, want %q", test.text, err, test.want)
		}
	}
}

// FuzzLosses checks that ParseLosses does not panic, and that its result's text parses back.
func FuzzLosses(f *testing.F) {
	for _, text := range []string{"none", "2%", "packets:3,7-9", "outages:1s-2s;trace:001*", "gilbert-elliott:p=0.01,r=0.3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ParseLosses(text); err == nil && len(text) < 1000 {
			if again, err := ParseLosses(l.String()); err != nil || again.String() != l.String() {
				t.Errorf("losses %q = %v, read back as %v, %v", text, l, again, err)
			}
		} else if err != nil && !strings.Contains(err.Error(), "want") {
			t.Errorf("losses %q: %v does not say what is accepted", text, err)
		}
	})
}
