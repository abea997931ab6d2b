package setting

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
)

// Rule is what a field accepts: its type and its tags.
type Rule struct {
	t      reflect.Type
	tag    reflect.StructTag
	oneOf  []string
	named  bool          // the values are the indices of oneOf
	power  bool          // of two
	zero   bool          // is within the bounds
	lo, hi reflect.Value // not valid without a bound
}

// Allower is a type that says what its UnmarshalText accepts, such as "a policy: bsd, rfc6298 or
// per-segment".
type Allower interface{ Allowed() string }

// Named is a type of numbers from 0 on that have names.
type Named interface{ Names() []string }

var (
	durationType  = reflect.TypeFor[time.Duration]()
	textType      = reflect.TypeFor[encoding.TextUnmarshaler]()
	units         = []string{"", "rate", "size", "probability"}
	truths, lies  = []string{"true", "on", "1"}, []string{"false", "off", "0"}
	switchChoices = []string{"true", "false"}
)

// NewRule returns the rule of a field of type t. It panics if its tags are wrong.
func NewRule(t reflect.Type, tag reflect.StructTag) Rule {
	r := Rule{t: t, tag: tag, oneOf: strings.Fields(tag.Get("oneof")), zero: tag.Get("zero") == "ok"}
	if n, ok := reflect.Zero(t).Interface().(Named); ok {
		r.oneOf, r.named = n.Names(), true
	}
	if !slices.Contains(units, r.unit()) {
		panic(fmt.Sprintf("BUG: setting: unit:%q, want one of%s", r.unit(), strings.Join(units, " ")))
	}
	if power, ok := tag.Lookup("power"); ok {
		if r.power = true; power != "two" {
			panic(fmt.Sprintf("BUG: setting: power:%q, want two", power))
		}
	}
	r.lo, r.hi = r.bound("min"), r.bound("max")
	if !r.lo.IsValid() && (t == durationType || r.unit() == "probability") {
		r.lo = reflect.Zero(t)
	}
	return r
}

func (r *Rule) unit() string { return r.tag.Get("unit") }

// bound returns the value of a bound's tag.
func (r *Rule) bound(which string) (v reflect.Value) {
	text, ok := r.tag.Lookup(which)
	if !ok {
		return v
	}
	v = reflect.New(r.t).Elem()
	if err := r.parse(v, text); err != nil || !v.CanInt() && !v.CanUint() && !v.CanFloat() {
		panic(fmt.Sprintf("BUG: setting: %s:%q of a field of type %v", which, text, r.t))
	}
	return v
}

// ReadsText reports whether values of type t read text themselves.
func ReadsText(t reflect.Type) bool { return reflect.PointerTo(t).Implements(textType) }

// Set reads text into v, which it leaves alone on an error. The error quotes the text and says what
// is accepted; the caller adds the name of the field.
func (r *Rule) Set(v reflect.Value, text string) error {
	x := reflect.New(r.t).Elem()
	x.Set(v)
	err := r.parse(x, text)
	if err == nil && r.Within(x) {
		v.Set(x)
		return nil
	}
	want := r.Want()
	if err == nil || !ReadsText(r.t) {
		return fmt.Errorf("%q, want %s", text, want)
	}
	why, quoted := err.Error(), strconv.Quote(text)
	if !strings.HasPrefix(why, quoted) {
		why = quoted + ", " + why
	}
	if _, said, ok := strings.Cut(why, "want "); !ok || !strings.Contains(want, said) && ok && want != "text" {
		why += "; want " + want
	}
	return errors.New(why)
}

// parse reads text into v without looking at bounds.
func (r *Rule) parse(v reflect.Value, text string) error {
	if word, value, ok := strings.Cut(r.tag.Get("word"), "="); ok && text == word {
		text = value
	}
	if r.named {
		i := slices.Index(r.oneOf, text)
		if i < 0 {
			return strconv.ErrSyntax
		}
		v.SetUint(uint64(i))
		return nil
	}
	switch {
	case ReadsText(r.t):
		return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	case r.t == durationType:
		d, err := quantity.ParseDuration(text)
		v.SetInt(int64(d))
		return err
	case v.Kind() == reflect.Bool:
		v.SetBool(slices.Contains(truths, text))
		if !v.Bool() && !slices.Contains(lies, text) {
			return strconv.ErrSyntax
		}
	case v.CanInt():
		digits, minus := strings.CutPrefix(text, "-")
		x, err := r.whole(digits)
		if err != nil || x > math.MaxInt64 || v.OverflowInt(int64(x)) {
			return strconv.ErrRange
		}
		if v.SetInt(int64(x)); minus {
			v.SetInt(-int64(x))
		}
	case v.CanUint():
		x, err := r.whole(text)
		if err != nil || v.OverflowUint(x) {
			return strconv.ErrRange
		}
		v.SetUint(x)
	case v.CanFloat() && r.unit() == "probability":
		x, err := quantity.ParseProbability(text)
		v.SetFloat(x)
		return err
	case v.CanFloat():
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x != x || x-x != 0 {
			return strconv.ErrSyntax
		}
		v.SetFloat(x)
	case v.Kind() == reflect.String:
		v.SetString(text)
	default:
		panic("BUG: setting: a field of type " + r.t.String())
	}
	return nil
}

// whole reads a whole number in the field's unit.
func (r *Rule) whole(text string) (uint64, error) {
	switch digits, hex := strings.CutPrefix(text, "0x"); {
	case r.unit() == "rate":
		x, err := quantity.ParseRate(text)
		return uint64(x), err
	case r.unit() == "size":
		x, err := quantity.ParseSize(text)
		return uint64(x), err
	case hex:
		return strconv.ParseUint(digits, 16, 64)
	}
	return quantity.ParseCount(text)
}

// Within reports whether v is within its bounds.
func (r *Rule) Within(v reflect.Value) bool {
	if r.named {
		return v.Uint() < uint64(len(r.oneOf))
	}
	if len(r.oneOf) > 0 {
		return slices.Contains(r.oneOf, fmt.Sprint(v.Interface()))
	}
	if r.power && (v.Int() < 1 || v.Int()&(v.Int()-1) != 0) {
		return false
	}
	return r.zero && v.IsZero() || (!r.lo.IsValid() || Compare(v, r.lo) >= 0) && (!r.hi.IsValid() || Compare(v, r.hi) <= 0)
}

// Compare compares whole numbers, numbers or durations of one type.
func Compare(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return cmp.Compare(a.Float(), b.Float())
}

// Want says what the field accepts.
func (r *Rule) Want() string {
	if len(r.oneOf) > 0 {
		return "one of " + strings.Join(r.oneOf, ", ")
	}
	if a, ok := reflect.New(r.t).Interface().(Allower); ok {
		return a.Allowed()
	}
	what := "text"
	zero := reflect.Zero(r.t)
	switch {
	case r.t == durationType:
		what = "a duration such as 20ms"
	case zero.Kind() == reflect.Bool:
		what = "true or false"
	case r.unit() == "rate":
		what = "a rate in bit/s such as 100Mbit or 1e8"
	case r.unit() == "size":
		what = "a number of bytes such as 64KiB or 1e6"
	case r.unit() == "probability":
		what = "a probability such as 0.02 or 2%"
	case zero.CanInt(), zero.CanUint():
		what = "a whole number"
		if r.power {
			what = "a power of two"
		}
	case zero.CanFloat():
		what = "a number"
	}
	if word, _, ok := strings.Cut(r.tag.Get("word"), "="); ok {
		what = word + ", or " + what
	}
	if bounds := r.bounds(); bounds != "" {
		what += ", " + bounds
	}
	return what
}

// bounds returns the bounds as text, "" without any.
func (r *Rule) bounds() (text string) {
	lo, hasLo := r.tag.Lookup("min")
	hi, hasHi := r.tag.Lookup("max")
	switch {
	case hasHi && !hasLo && r.t == durationType:
		text = "0s to " + hi
	case hasHi && !hasLo && r.unit() == "probability":
		text = "0 to " + hi
	case hasLo && hasHi:
		text = lo + " to " + hi
	case hasLo:
		text = lo + " or more"
	case hasHi:
		text = "at most " + hi
	}
	if r.zero {
		text += ", or 0"
	}
	return text
}

// Kind is the kind of value in a word, for the help of flags: "duration", "rate", "switch".
func (r *Rule) Kind() string {
	zero := reflect.Zero(r.t)
	switch {
	case r.tag.Get("kind") != "":
		return r.tag.Get("kind")
	case r.unit() != "":
		return r.unit()
	case r.t == durationType:
		return "duration"
	case len(r.oneOf) > 0:
		return "name"
	case zero.Kind() == reflect.Bool:
		return "switch"
	case zero.CanInt(), zero.CanUint():
		return "count"
	case zero.CanFloat():
		return "number"
	}
	return strings.ToLower(r.t.Name())
}

// text returns the text of a value.
func (r *Rule) text(v reflect.Value) string {
	if r.named && v.Uint() < uint64(len(r.oneOf)) {
		return r.oneOf[v.Uint()]
	}
	return fmt.Sprint(v.Interface())
}
