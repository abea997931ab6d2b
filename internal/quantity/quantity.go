package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads a duration of 0 or more in time.ParseDuration's syntax: "25ms", "1.5s",
// "200us", "0".
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q, want a duration of 0s or more with a unit, such as 25ms, 1.5s or 200us", text)
	}
	return d, nil
}

// ParseProbability reads a probability from 0 to 1 or in percent: "0.02", "1e-3", "2%".
func ParseProbability(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	p, ok := parseNumber(digits)
	if percent && ok {
		if exact, ok := parseNumber(digits + "e-2"); ok { // one rounding only
			p = exact
		} else {
			p /= 100
		}
	}
	if !ok || p < 0 || p > 1 {
		return 0, fmt.Errorf("%q, want a probability from 0 to 1, such as 0.02 or 2%%", text)
	}
	return p, nil
}

// ParseCount reads a whole number of 0 or more: "1000", "1_000_000", "1e6".
func ParseCount(text string) (uint64, error) {
	n, ok := scale(text, map[string]float64{"": 1}, math.MaxUint64)
	if !ok {
		return 0, fmt.Errorf("%q, want a whole number, such as 1000 or 1e6", text)
	}
	return n, nil
}

// Rate is a data rate in bit/s, up to MaxRate. 0 is no limit.
type Rate uint64

// MaxRate is the highest rate, in bit/s.
const MaxRate = 1_000_000_000_000_000

var rateUnits = map[string]float64{"": 1, "bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}

// ParseRate reads a rate: "100Mbit", "1.5Gbit/s", or "1e8" in bit/s. The units are bit, kbit, Mbit,
// Gbit and Tbit, in any case. "none" is no limit. A rate of 0 is an error: nothing would ever pass.
func ParseRate(text string) (Rate, error) {
	if text == "none" {
		return 0, nil
	}
	r, ok := scale(strings.TrimSuffix(strings.ToLower(text), "/s"), rateUnits, MaxRate)
	if !ok || r == 0 {
		return 0, fmt.Errorf("%q, want %s", text, RateAllowed)
	}
	return Rate(r), nil
}

// RateAllowed says what ParseRate accepts.
const RateAllowed = "none, or whole bit/s from 1 to 1e15, such as 100Mbit, 1.5Gbit or 1e8"

// String returns the rate in the largest unit below it, such as "1.5Gbit", and "none" for 0.
// ParseRate reads it.
func (r Rate) String() string {
	switch x := float64(r); {
	case r == 0:
		return "none"
	case x >= 1e12:
		return formatFloat(x/1e12) + "Tbit"
	case x >= 1e9:
		return formatFloat(x/1e9) + "Gbit"
	case x >= 1e6:
		return formatFloat(x/1e6) + "Mbit"
	case x >= 1e3:
		return formatFloat(x/1e3) + "kbit"
	}
	return strconv.FormatUint(uint64(r), 10) + "bit"
}

// UnmarshalText calls ParseRate.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// Allowed says what UnmarshalText accepts.
func (*Rate) Allowed() string { return RateAllowed }

// Size is a number of bytes.
type Size uint64

var sizeUnits = map[string]float64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// ParseSize reads a number of bytes: "1500", "64KiB", "1.5MB", "1e6". The units are B, kB, MB, GB
// and TB (powers of 1000), and KiB, MiB, GiB and TiB (powers of 1024).
func ParseSize(text string) (Size, error) {
	n, ok := scale(text, sizeUnits, math.MaxInt64)
	if !ok {
		return 0, fmt.Errorf("%q, want %s", text, sizeAllowed)
	}
	return Size(n), nil
}

const sizeAllowed = "a whole number of bytes, such as 1500, 64KiB, 1.5MB or 1e6"

// String returns the size in the largest power of 1024 that divides it, such as "64KiB". ParseSize
// reads it.
func (s Size) String() string {
	n, unit := uint64(s), ""
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.FormatUint(n, 10) + unit
}

// scale reads a number with a unit and multiplies it out. ok is false unless the result is a whole
// number from 0 to most.
func scale(text string, units map[string]float64, most uint64) (n uint64, ok bool) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	factor, known := units[strings.TrimLeft(text[len(digits):], " ")]
	if !known {
		return 0, false
	}
	if n, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), 10, 64); err == nil && factor == 1 {
		return n, n <= most
	}
	x, ok := parseNumber(digits)
	x = float64(x * factor)
	whole := math.Round(x)
	// The product may be off by a rounding: 1.1·10^9 is 1100000000.0000002.
	if !ok || x < 0 || math.Abs(x-whole) > x*0x1p-51 || whole >= 1<<63 {
		return 0, false
	}
	return uint64(whole), uint64(whole) <= most
}

// parseNumber reads a decimal number with optional "_" between digits. It refuses infinities, NaN
// and hexadecimal.
func parseNumber(text string) (x float64, ok bool) {
	if strings.Trim(text, "0123456789_.eE+-") != "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return x, err == nil
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
