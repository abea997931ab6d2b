package quantity

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestQuantitiesAreRead(t *testing.T) {
	for _, test := range []struct {
		got  func(string) (any, error)
		text string
		want any
	}{
		{anyOf(ParseDuration), "25ms", 25 * time.Millisecond},
		{anyOf(ParseDuration), "1m1.5s", 61500 * time.Millisecond},
		{anyOf(ParseDuration), "200us", 200 * time.Microsecond},
		{anyOf(ParseDuration), "200µs", 200 * time.Microsecond},
		{anyOf(ParseDuration), "0", time.Duration(0)},
		{anyOf(ParseProbability), "0.02", 0.02},
		{anyOf(ParseProbability), "2%", 0.02},
		{anyOf(ParseProbability), "0.1%", 0.001},
		{anyOf(ParseProbability), "1e1%", 0.1},
		{anyOf(ParseProbability), "100%", 1.0},
		{anyOf(ParseProbability), "1e-3", 0.001},
		{anyOf(ParseProbability), "0", 0.0},
		{anyOf(ParseCount), "1000", uint64(1000)},
		{anyOf(ParseCount), "1_000_000", uint64(1_000_000)},
		{anyOf(ParseCount), "1e6", uint64(1_000_000)},
		{anyOf(ParseCount), "1.5e3", uint64(1500)},
		{anyOf(ParseCount), "18446744073709551615", uint64(math.MaxUint64)},
		{anyOf(ParseRate), "100Mbit", Rate(100_000_000)},
		{anyOf(ParseRate), "100mbit", Rate(100_000_000)},
		{anyOf(ParseRate), "100 Mbit/s", Rate(100_000_000)},
		{anyOf(ParseRate), "1e8", Rate(100_000_000)},
		{anyOf(ParseRate), "1.1Gbit", Rate(1_100_000_000)},
		{anyOf(ParseRate), "64kbit", Rate(64_000)},
		{anyOf(ParseRate), "8bit", Rate(8)},
		{anyOf(ParseRate), "1000Tbit", Rate(1e15)},
		{anyOf(ParseRate), "none", Rate(0)},
		{anyOf(ParseSize), "1500", Size(1500)},
		{anyOf(ParseSize), "1500B", Size(1500)},
		{anyOf(ParseSize), "64KiB", Size(65536)},
		{anyOf(ParseSize), "1.5 MB", Size(1_500_000)},
		{anyOf(ParseSize), "1e6", Size(1_000_000)},
		{anyOf(ParseSize), "9223372036854775807", Size(math.MaxInt64)},
	} {
		if got, err := test.got(test.text); err != nil || got != test.want {
			t.Errorf("%T %q = %v, %v, want %v", test.want, test.text, got, err, test.want)
		}
	}
}

// anyOf gives parsers of different types one type.
func anyOf[T any](parse func(string) (T, error)) func(string) (any, error) {
	return func(text string) (any, error) { return parse(text) }
}

func TestRefusedQuantitiesSayWhatIsAccepted(t *testing.T) {
	for _, test := range []struct {
		parse func(string) (any, error)
		texts []string
		want  string
	}{
		{anyOf(ParseDuration), []string{"", "5", "-5ms", "5 ms", "1d", "1e3ms"},
			"want a duration of 0s or more with a unit, such as 25ms, 1.5s or 200us"},
		{anyOf(ParseProbability), []string{"", "%", "1.01", "101%", "-0.1", "-0.1%", "NaN", "Inf", "0x1p-2", "2 %", "2%%", "one"},
			"want a probability from 0 to 1, such as 0.02 or 2%"},
		{anyOf(ParseCount), []string{"", "-1", "1.5", "1e-3", "1e30", "18446744073709551616", "10k", "0x10", "Inf", "_"},
			"want a whole number, such as 1000 or 1e6"},
		{anyOf(ParseRate), []string{"", "0", "0Mbit", "-1", "1e16", "1001Tbit", "0.5bit", "100M", "100Mbps", "100Mbit/h", "Mbit", "fast", "NaNbit"},
			"want none, or whole bit/s from 1 to 1e15, such as 100Mbit, 1.5Gbit or 1e8"},
		{anyOf(ParseSize), []string{"", "-1", "1.5", "64K", "64Kb", "64kib", "1e19", "9223372036854775808", "InfB"},
			"want a whole number of bytes, such as 1500, 64KiB, 1.5MB or 1e6"},
	} {
		for _, text := range test.texts {
			if got, err := test.parse(text); err == nil || err.Error() != fmt.Sprintf("%q, %s", text, test.want) {
				t.Errorf("%q = %v, %v, want the error %q, %s", text, got, err, text, test.want)
			}
		}
	}
}

func TestQuantitiesAreWrittenAsTheyAreRead(t *testing.T) {
	for r, want := range map[Rate]string{
		0: "none", 1: "1bit", 999: "999bit", 1000: "1kbit", 1500: "1.5kbit", 100_000_000: "100Mbit", 1_234_567: "1.234567Mbit",
		1e15: "1000Tbit", 999_999_999_999_999: "999.999999999999Tbit",
	} {
		if r.String() != want {
			t.Errorf("rate of %d bit/s = %s, want %s", uint64(r), r, want)
		}
	}
	for s, want := range map[Size]string{
		0: "0", 1500: "1500", 1024: "1KiB", 65536: "64KiB", 1 << 20: "1MiB", 3 << 30: "3GiB", 1 << 50: "1024TiB", 1_000_000: "1000000",
	} {
		if s.String() != want {
			t.Errorf("size of %d bytes = %s, want %s", uint64(s), s, want)
		}
	}
}

// FuzzQuantities checks that no parser panics, that results are in range, and that their text
// parses back.
func FuzzQuantities(f *testing.F) {
	for _, text := range []string{"25ms", "-1s", "2%", "0.02", "1e-400", "100Mbit", "1.1Gbit/s", "none", "64KiB", "1e6", "1_000", "999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); err == nil {
			if again, err := ParseDuration(d.String()); d < 0 || err != nil || again != d {
				t.Errorf("duration %q = %v, read back as %v, %v", text, d, again, err)
			}
		}
		if p, err := ParseProbability(text); err == nil {
			if again, err := ParseProbability(formatFloat(p)); !(p >= 0 && p <= 1) || err != nil || again != p {
				t.Errorf("probability %q = %v, read back as %v, %v", text, p, again, err)
			}
		}
		if r, err := ParseRate(text); err == nil {
			if again, err := ParseRate(r.String()); r > MaxRate || err != nil || again != r {
				t.Errorf("rate %q = %d, read back as %v, %v", text, uint64(r), again, err)
			}
		}
		if s, err := ParseSize(text); err == nil {
			if again, err := ParseSize(s.String()); s > math.MaxInt64 || err != nil || again != s {
				t.Errorf("size %q = %d, read back as %v, %v", text, uint64(s), again, err)
			}
		}
		if n, err := ParseCount(text); err == nil {
			if again, err := ParseCount(fmt.Sprint(n)); err != nil || again != n {
				t.Errorf("count %q = %d, read back as %v, %v", text, n, again, err)
			}
		}
	})
}
