package experiments

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"

	"tcpwheel/internal/record"
)

// A time.Duration of a cell or a record has a name in JSON that ends in _s, and nothing else has.
// Encoding/json writes it as whole nanoseconds. Files have seconds, with up to nine decimals, as all
// JSON of this program.
var (
	spans   = regexp.MustCompile(`"\w+_s":[\[\]\d.,-]+`)
	numbers = regexp.MustCompile(`-?\d+(\.\d+)?`)
)

// MarshalCell writes the result of a cell.
func MarshalCell(result any) (json.RawMessage, error) {
	text, err := json.Marshal(result)
	return inSeconds(text), err
}

// UnmarshalCell reads what MarshalCell wrote.
func UnmarshalCell(text json.RawMessage, result any) error {
	return json.Unmarshal(inNanoseconds(text), result)
}

// inSeconds turns the durations in what encoding/json wrote into seconds.
func inSeconds(text []byte) []byte {
	return eachSpan(text, func(number string) string {
		ns, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic("BUG: the name of a number ends in _s, and it is no time.Duration: " + err.Error())
		}
		return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
	})
}

// inNanoseconds turns what inSeconds wrote back.
func inNanoseconds(text []byte) []byte {
	return eachSpan(text, func(number string) string {
		seconds, err := strconv.ParseFloat(number, 64)
		if err != nil {
			panic("BUG: " + err.Error()) // digits
		}
		return strconv.FormatInt(int64(record.Span(seconds)), 10)
	})
}

func eachSpan(text []byte, change func(number string) string) []byte {
	return spans.ReplaceAllFunc(text, func(span []byte) []byte {
		name, value, _ := bytes.Cut(span, []byte(":"))
		value = numbers.ReplaceAllFunc(value, func(n []byte) []byte { return []byte(change(string(n))) })
		return append(append(bytes.Clone(name), ':'), value...)
	})
}
