package wheels

import (
	"fmt"
	"strconv"

	"tcpwheel/experiments"
)

// locksRecord is a row of locks/processors.csv, which the live part measured on real processors: a
// ratio of rates with its 95 % interval.
type locksRecord struct {
	locksWay
	rate, ratio, lo, hi float64
}

// locksRecords reads the file. It panics if the file is broken, as it is part of the program.
func locksRecords() (all []locksRecord) {
	for _, row := range experiments.ReadRows(files, "locks/processors.csv") {
		var x [7]float64
		for i := range x {
			var err error
			if x[i], err = strconv.ParseFloat(row[1+i], 64); err != nil {
				panic("BUG: processors.csv: " + err.Error())
			}
		}
		all = append(all, locksRecord{locksWay{row[0], int(x[0]), int(x[1]), int(x[2])}, x[3], x[4], x[5], x[6]})
	}
	return all
}

// locksShowRecords shows what was measured on real processors next to the counts.
func locksShowRecords(out *experiments.Outcome) {
	table := experiments.Table{
		Name: "processors", Title: "Recorded on real processors: pairs of START and STOP, with steps of other work between them", Columns: locksClockColumns,
	}
	var buckets, shards locksRecord
	for _, r := range locksRecords() {
		table.Add(r.wheel, r.work, r.processors, r.locks, r.rate, r.ratio, r.lo, r.hi)
		if r.processors == 1 || r.locks == 1 || r.work != locksRecordedWork {
			continue
		}
		if r.wheel == bucketed {
			buckets = r
		} else {
			shards = r
		}
	}
	out.Tables = append(out.Tables, table)
	text := func(r locksRecord) string {
		return fmt.Sprintf("%s (%s to %s)", experiments.Number(r.ratio), experiments.Number(r.lo), experiments.Number(r.hi))
	}
	out.Claim(experiments.Claim{Name: "real-locks", Class: experiments.Law, Text: fmt.Sprintf("recorded: on %d real processors a wheel for each does more than one wheel with a lock for each bucket", shards.processors),
		Source: "locks/processors.csv, recorded once", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s times one processor, against %s", text(shards), text(buckets)),
		Expected: experiments.Whether(shards.lo > max(buckets.hi, 1), "more, and more than one processor, with their intervals"), Basis: "set for this project, after a first measurement",
		Otherwise: "the lines of buckets do not move between the caches of the processors"})
}

// locksRecordedWork is the other work of the claim on real processors.
const locksRecordedWork = 16
