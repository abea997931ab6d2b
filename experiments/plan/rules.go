package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rules says what the tags of a field allow.
type rules struct{ tag reflect.StructTag }

func (r rules) optional() bool { return r.tag.Get("optional") == "true" }

func (r rules) oneOf() []string { return strings.Fields(r.tag.Get("oneof")) }

// unit returns the unit of a number: "rate" (bit/s), "size" (bytes), "probability", or "".
func (r rules) unit() string {
	unit := r.tag.Get("unit")
	if !slices.Contains([]string{"", "rate", "size", "probability"}, unit) {
		panic(fmt.Sprintf("BUG: plan: unit:%q, want rate, size or probability", unit))
	}
	return unit
}

// powers reports whether whole numbers must be powers of two.
func (r rules) powers() bool {
	power, ok := r.tag.Lookup("power")
	if ok && power != "two" {
		panic(fmt.Sprintf("BUG: plan: power:%q, want two", power))
	}
	return ok
}

// rising reports whether the elements of a list must rise.
func (r rules) rising() bool {
	order, ok := r.tag.Lookup("order")
	if ok && order != "rising" {
		panic(fmt.Sprintf("BUG: plan: order:%q, want rising", order))
	}
	return ok
}

// above reports whether b is above a. Both are whole numbers, numbers or durations.
func above(b, a reflect.Value) bool {
	switch {
	case b.CanInt():
		return b.Int() > a.Int()
	case b.CanUint():
		return b.Uint() > a.Uint()
	}
	return b.Float() > a.Float()
}

// within reports whether v is within its bounds.
func (r rules) within(v reflect.Value) bool {
	if all := r.oneOf(); len(all) > 0 {
		return slices.Contains(all, fmt.Sprint(v.Interface()))
	}
	return r.compare(v, "min") >= 0 && r.compare(v, "max") <= 0 && (!r.powers() || v.Int() > 0 &&
		v.Int()&(v.Int()-1) == 0)
}

// compare compares v with a bound. It returns 0 if there is no bound.
func (r rules) compare(v reflect.Value, which string) int {
	text, ok := r.tag.Lookup(which)
	if !ok {
		return 0
	}
	fail := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("BUG: plan: %s:%q of a field of type %v", which, text, v.Type()))
		}
	}
	switch {
	case v.Type() == durationType:
		bound, err := time.ParseDuration(text)
		fail(err)
		return cmp.Compare(v.Int(), int64(bound))
	case v.CanInt():
		bound, err := strconv.ParseInt(text, 10, 64)
		fail(err)
		return cmp.Compare(v.Int(), bound)
	case v.CanUint():
		bound, err := strconv.ParseUint(text, 10, 64)
		fail(err)
		return cmp.Compare(v.Uint(), bound)
	case v.CanFloat():
		bound, err := strconv.ParseFloat(text, 64)
		fail(err)
		return cmp.Compare(v.Float(), bound)
	}
	panic("BUG: plan: bounds of a field of type " + v.Type().String())
}

// want says what a field accepts.
func (r rules) want(v reflect.Value) string {
	if all := r.oneOf(); len(all) > 0 {
		return "one of " + strings.Join(all, ", ")
	}
	if v.CanAddr() {
		if a, ok := v.Addr().Interface().(Allower); ok {
			return a.Allowed()
		}
	}
	what := "text"
	switch {
	case v.Type() == durationType:
		what = "a duration such as 20ms"
	case v.Kind() == reflect.Bool:
		what = "true or false"
	case r.unit() == "rate":
		what = "a rate in bit/s such as 100Mbit or 1e8"
	case r.unit() == "size":
		what = "a number of bytes such as 64KiB or 1e6"
	case r.unit() == "probability":
		what = "a probability such as 0.02 or 2%"
	case v.CanInt(), v.CanUint():
		what = "a whole number"
		if r.powers() {
			what = "a power of two"
		}
	case v.CanFloat():
		what = "a number"
	}
	lo, hasLo := r.tag.Lookup("min")
	hi, hasHi := r.tag.Lookup("max")
	switch {
	case hasLo && hasHi:
		what += fmt.Sprintf(", %s to %s", lo, hi)
	case hasLo:
		what += fmt.Sprintf(", %s or more", lo)
	case hasHi:
		what += fmt.Sprintf(", at most %s", hi)
	}
	return what
}
