package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is bits in a second; 0 is without bound. Its text is a number and bit, kbit, Mbit or Gbit, or "none".
type Rate uint64

// rateUnits are the units, the greatest first.
var rateUnits = []struct {
	name string
	bits float64
}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

const maxRate = 1e15

// UnmarshalText reads the text.
func (r *Rate) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*r = 0
		return nil
	}
	for _, u := range rateUnits {
		if digits, ok := strings.CutSuffix(string(text), u.name); ok {
			x, err := strconv.ParseFloat(digits, 64)
			if err != nil || !(x*u.bits >= 1 && x*u.bits <= maxRate) {
				break
			}
			*r = Rate(x * u.bits)
			return nil
		}
	}
	return fmt.Errorf("%q is no rate", text)
}

// Allowed says what the text may be.
func (*Rate) Allowed() string {
	return "none, or a rate such as 10Mbit, with bit, kbit, Mbit or Gbit, 1bit to 10^15 bit"
}

// String returns the text.
func (r Rate) String() string {
	if r == 0 {
		return "none"
	}
	for _, u := range rateUnits {
		if float64(r) >= u.bits {
			return strconv.FormatFloat(float64(r)/u.bits, 'g', -1, 64) + u.name
		}
	}
	panic("BUG: sweep: a rate below 1 bit/s")
}
