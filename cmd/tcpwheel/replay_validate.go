package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
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
	switch {
	case r.lossy == 0:
		return errors.New("replay: there is no loss to validate by")
	case len(r.results) == 0:
		return fmt.Errorf("replay: none of %s with losses can be replayed", plural(int64(r.lossy), "connection"))
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
			r.first[&x] = r.first[r.results[2*i+1]]
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
	if rows[0].Recoveries == 0 {
		return errors.New("replay: there is no loss to validate by: none was needed, repaired and captured at its sender")
	}
	good := true
	for i := range rows {
		good = good && rows[i].Passes == rows[i].Want
	}
	var err error
	switch {
	case r.asJSON:
		enc := json.NewEncoder(r.stdout)
		for i := range rows {
			err = cmp.Or(err, enc.Encode(&rows[i]))
		}
	case r.asCSV:
		err = r.writeValidationCSV(rows)
	default:
		err = r.writeValidationTable(rows)
	}
	if err == nil && r.html != "" {
		err = r.writeValidationPage(rows)
	}
	if err == nil && !good {
		err = &violation{errors.New("replay: the validation has not come out as it should")}
	}
	return err
}

func (r *replaying) writeValidationTable(rows []validationRow) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s%-7s %7s %6s %7s %9s %7s %7s %6s\n", "check", "first", "timeout", "probe", "reorder", "ACK", "T_rec", "p95", "passes")
	for i := range rows {
		x := &rows[i]
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
	r.writeFar(&b, &rows[0].Validation)
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}

// writeValidationCSV prints a line for each loss and check.
func (r *replaying) writeValidationCSV(rows []validationRow) error {
	w := csv.NewWriter(r.stdout)
	err := w.Write([]string{
		"check", "policy", "file", "conn", "sender", "kind", "at_s", "packet", "captured_d_s", "d_s", "right", "captured_t_rec_s", "t_rec_s", "off",
	})
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	for i := range rows {
		for _, j := range rows[i].Judged {
			x := j.Result
			l := &x.Script.Loss[j.Loss]
			d, took := "", ""
			if j.Detected {
				d = number(j.D.Seconds())
			}
			if j.Repaired {
				took = number(j.TRec.Seconds())
			}
			err = cmp.Or(err, w.Write([]string{
				rows[i].Check, rows[i].Policy, x.File, strconv.Itoa(x.ID), endNames[l.Flow], l.Kind.String(),
				number(x.Script.Seconds(l.At, r.first[x])), strconv.FormatInt(l.Packet, 10), number(l.D.Seconds()), d, strconv.FormatBool(j.Right),
				number(l.TRec.Seconds()), took, number(j.Off),
			}))
		}
	}
	w.Flush()
	return cmp.Or(err, w.Error())
}

func (r *replaying) writeValidationPage(rows []validationRow) error {
	page := pages.Validations{First: r.firstOf, Conns: r.conns, Lossy: r.lossy, Refusals: r.pageRefusals()}
	for i := range rows {
		page.Checks = append(page.Checks, pages.Check{Name: rows[i].Check, Want: rows[i].Want, Validation: rows[i].Validation})
	}
	for _, x := range r.results {
		ends, err := r.study.Wire(x, 0)
		if err != nil {
			return err
		}
		for i, o := range ends {
			if o != nil && x.Script.Ends[i].Half == 0 {
				page.Ends = append(page.Ends, pages.WireEnd{Result: x, End: i, Policy: r.study.Choices[0].Text, Outcome: o})
			}
		}
	}
	return writeWhole(r.html, page.Write)
}

// writeFar lists the losses whose replays are farthest from what was captured.
func (r *replaying) writeFar(b *strings.Builder, v *replay.Validation) {
	all := v.Far()
	if len(all) == 0 || r.top == 0 {
		return
	}
	counts := map[replay.Why]int{}
	for _, f := range all {
		counts[f.Why]++
	}
	fmt.Fprintf(b, "\n%d of %d recovery times are off by more than 10 %%: detected at another time by an\n"+
		"engine that hears what the captured sender heard (timer, %d), only in the replay\n"+
		"(path, %d), or repaired at another time (repair, %d)\n", len(all), v.Recoveries, counts[replay.WhyTimer], counts[replay.WhyPath], counts[replay.WhyRepair])
	fmt.Fprintf(b, "%5s %9s %-8s%8s %7s  %-8s%s\n", "conn", "at", "kind", "capture", "replay", "why", "file")
	for _, f := range all[:min(r.top, len(all))] {
		l := &f.Result.Script.Loss[f.Loss]
		fmt.Fprintf(b, "%5d %8.3fs %-8v%s%s  %-8v%s\n", f.Result.ID, f.Result.Script.Seconds(l.At, r.first[f.Result]), l.Kind,
			pad(spanOrDash(l.TRec, true), 8), pad(spanOrDash(f.TRec, f.Repaired), 8), f.Why, f.Result.File)
	}
}
