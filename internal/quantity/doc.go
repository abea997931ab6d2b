// Package quantity reads and writes quantities as text: durations, rates, sizes, probabilities and
// counts. Flags, plans, scenarios and settings have these parsers and no others.
//
//	rate, err := quantity.ParseRate("100Mbit")
//
// Errors begin with the quoted text and say what is accepted, so that the caller adds the name of
// the field: fmt.Errorf("delay %w", err) gives `delay "5", want a duration …`. The parsers never
// panic.
package quantity
