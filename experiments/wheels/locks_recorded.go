package wheels

import (
	"strconv"

	"tcpwheel/experiments"
)

// locksRecord is a row of locks/processors.csv, which the live part measured on real processors: a
// mean ratio of rates over rounds, with its 95 % bootstrap interval.
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
