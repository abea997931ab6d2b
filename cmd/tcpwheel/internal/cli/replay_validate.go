package cli

import (
	"errors"
	"fmt"
	"slices"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/record"
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
)

// validators are the policies of a validation: the timers that the captures were made with, and
// timers that must be told from them.
var validators = []string{"captured", "gvisor", "bsd"}

// validate compares captures of Linux with replays under its timers, and under others that must not
// come near.
func (r *replaying) validate() error {
	switch {
	case r.lossy == 0:
		return errors.New("replay: there is no loss to validate by")
	case len(r.results) == 0:
		return fmt.Errorf("replay: none of %s with losses can be replayed", quantity.Count(r.lossy, "connection"))
	}
	checks, err := r.checks()
	if err != nil {
		return err
	}
	if checks[0].Recoveries == 0 {
		return errors.New("replay: there is no loss to validate by: none was needed, repaired and captured at its sender")
	}
	switch {
	case r.asJSON:
		err = r.writeValidationJSON(checks)
	case r.asCSV:
		err = record.WriteCSV(r.stdout, r.judgedRecords(checks))
	default:
		err = r.writeValidationTable(checks)
	}
	if err == nil && r.html != "" {
		err = r.writeValidationPage(checks)
	}
	if err == nil && slices.ContainsFunc(checks, func(c pages.Check) bool { return c.Passes() != c.Want }) {
		err = &violation{errors.New("replay: the validation has not come out as it should")}
	}
	return err
}

// checks runs the checks of a validation: each policy over all connections, and the captured timers
// over timers that nothing was learnt from, if there are some.
func (r *replaying) checks() (all []pages.Check, err error) {
	held := replay.HoldOut(r.results)
	replay.ShareTicks(r.results)
	for _, x := range slices.Concat(r.results, held) {
		if err := r.study.RunAgain(x); err != nil {
			return nil, err
		}
	}
	for _, c := range []struct {
		name    string
		results []*replay.Result
		choice  int // of validators
		want    bool
	}{
		{"V2 as captured", r.results, 0, true},
		{"V3 floor on RTO", r.results, 1, false},
		{"V3 4.4BSD", r.results, 2, false},
		{"V4 hold-out", held, 0, true},
	} {
		if len(c.results) == 0 {
			continue
		}
		v, err := r.study.Validate(c.results, c.choice)
		if err != nil {
			return nil, err
		}
		all = append(all, pages.Check{Name: c.name, Want: c.want, Validation: v})
	}
	return all, nil
}

// writeValidationPage writes the page of a validation.
func (r *replaying) writeValidationPage(checks []pages.Check) error {
	page := pages.Validations{Checks: checks, First: r.firstOf, Conns: r.conns, Lossy: r.lossy, Refusals: r.pageRefusals()}
	for _, x := range r.results {
		ends, err := r.study.Wire(x, 0)
		if err != nil {
			return err
		}
		for i, o := range ends {
			if o != nil && x.Captured.Ends[i].Half == 0 {
				page.Ends = append(page.Ends, pages.WireEnd{Result: x, End: i, Policy: r.study.Choices[0].Text, Outcome: o})
			}
		}
	}
	return writeWhole(r.html, page.Write)
}
