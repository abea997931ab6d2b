package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tcpwheel/pcaps/replay"
)

// validators are the policies of a validation: the timers that the captures were made with, and those that must be told from them.
var validators = []string{"linux-jiffies", "gvisor", "bsd"}

// validationRow is how a policy has done in a validation.
type validationRow struct {
	Type  string `json:"type"`
	Check string `json:"check"`
	replay.Validation
	Passes bool `json:"passes"`
	Want   bool `json:"want"`
}

// percent is a share in seven columns.
func percent(part float64) string {
	if part >= 10 {
		return "> 999 %"
	}
	return fmt.Sprintf("%.1f %%", 100*part)
}

// validate compares captures of Linux with replays under its timers, and under others that must not come near.
func (r *replaying) validate() error {
	if len(r.results) == 0 {
		return errors.New("replay: no losses to validate by")
	}
	half := replay.HoldOut(r.results)
	replay.ShareTicks(r.results)
	for _, x := range r.results {
		if err := r.study.RunAgain(x); err != nil {
			return err
		}
	}
	var rows []validationRow
	var failed error
	add := func(check string, results []*replay.Result, choice int, want bool) {
		v, err := r.study.Validate(results, choice)
		if err != nil {
			failed = err
		}
		rows = append(rows, validationRow{"validation", check, v, v.Passes(), want})
	}
	add("V2 as captured", r.results, 0, true)
	add("V3 floor on RTO", r.results, 1, false)
	add("V3 4.4BSD", r.results, 2, false)
	if len(half) > 0 {
		var held []*replay.Result
		for i, s := range half {
			x := *r.results[2*i+1]
			x.Script = s
			if err := r.study.RunAgain(&x); err != nil {
				return err
			}
			held = append(held, &x)
		}
		add("V4 hold-out", held, 0, true)
	}
	if failed != nil {
		return failed
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	if !r.asJSON {
		fmt.Fprintf(&b, "%-16s%-7s %7s %6s %7s %9s %7s %7s %6s\n", "check", "first", "timeout", "probe", "reorder", "ACK", "T_rec", "p95", "passes")
	}
	good := true
	for i := range rows {
		x := &rows[i]
		good = good && x.Passes == x.Want
		if r.asJSON {
			if err := enc.Encode(x); err != nil {
				return err
			}
			continue
		}
		passes := "no"
		if x.Passes {
			passes = "yes"
		}
		if x.Passes != x.Want {
			passes += " !"
		}
		first := fmt.Sprintf("%.1f %%", 100*float64(x.FirstRight)/float64(max(x.First, 1)))
		of := func(right, n int) string { return fmt.Sprintf("%d/%d", right, n) }
		fmt.Fprintf(&b, "%-16s%-7s %7s %6s %7s %9s %7s %7s %6s\n", x.Check, first, of(x.TimeoutsRight, x.Timeouts), of(x.ProbesRight, x.Probes),
			of(x.ReordersRight, x.Reorders), of(x.FastRight, x.Fast), percent(x.Median), percent(x.P95), passes)
	}
	if _, err := r.stdout.Write([]byte(b.String())); err != nil {
		return err
	}
	if !good {
		return &violation{errors.New("replay: the validation has not come out as it should")}
	}
	return nil
}
