package cli

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/pflag"
)

// flagWants has the accepted values of pflag's kinds of flags.
var flagWants = map[string]string{
	"bool":          "true or false",
	"durationSlice": "times such as 1ms,10ms",
	"float64":       "a number",
	"int":           fmt.Sprintf("a whole number up to %d", math.MaxInt),
	"uint32":        fmt.Sprintf("a whole number from 0 to %d", uint32(math.MaxUint32)),
	"uint64":        fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)),
}

// flagError gives pflag's errors the project's form: field, value and bound.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	if _, ok := bad.GetFlag().Value.(interface{ saysWhatIsAccepted() }); ok {
		return fmt.Errorf("%s %w", bad.GetFlag().Name, errors.Unwrap(bad))
	}
	want, ok := flagWants[bad.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("%s %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
}
