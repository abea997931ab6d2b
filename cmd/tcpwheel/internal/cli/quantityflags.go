package cli

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/setting"
)

// quantityValue is a flag's value, read by a parser of package sim.
type quantityValue[T any] struct {
	to    *T
	parse func(text string) (T, error)
	text  string
	kind  string
}

// String returns the text of the value.
func (q *quantityValue[T]) String() string { return q.text }

// Type returns the kind of the value for the help.
func (q *quantityValue[T]) Type() string { return q.kind }

// Set reads the value. Its error says what is accepted.
func (q *quantityValue[T]) Set(text string) (err error) {
	if *q.to, err = q.parse(text); err == nil {
		q.text = text
	}
	return err
}

// saysWhatIsAccepted marks values whose errors need no rewording by flagError.
func (*quantityValue[T]) saysWhatIsAccepted() {}

// quantityFlag adds a flag. value is its default as text; "" is none.
func quantityFlag[T any](fs *pflag.FlagSet, to *T, parse func(string) (T, error), kind, name, value, about string) {
	q := &quantityValue[T]{to: to, parse: parse, kind: kind}
	if value != "" {
		if err := q.Set(value); err != nil {
			panic("BUG: " + name + " " + err.Error())
		}
	}
	fs.Var(q, name, about)
}

// settingFlag adds a flag for a setting of S, which is checked at once. Its values go to changes.
func settingFlag[S any](fs *pflag.FlagSet, changes *[]setting.Change, flag, name, about string) {
	s, ok := setting.Find(*new(S), name)
	if !ok {
		panic("BUG: no setting " + name)
	}
	var text string
	quantityFlag(fs, &text, func(text string) (string, error) {
		err := setting.Set(new(S), name, text)
		if err == nil {
			*changes = append(*changes, setting.Change{Name: name, Text: text})
		}
		return text, errors.Unwrap(err) // flagError names the flag
	}, s.Kind, flag, "", about)
}

func durationFlag(fs *pflag.FlagSet, to *time.Duration, name, value, about string) {
	quantityFlag(fs, to, quantity.ParseDuration, "duration", name, value, about)
}

// parseNumbers reads whole numbers such as 1000 or 1e6. what names them in errors.
func parseNumbers(what string, list []string) (numbers []int, err error) {
	for _, text := range list {
		n, err := quantity.ParseCount(text)
		if err != nil || n > math.MaxInt {
			return nil, fmt.Errorf("%s %q, want a whole number, such as 1000 or 1e6", what, text)
		}
		numbers = append(numbers, int(n))
	}
	return numbers, nil
}
