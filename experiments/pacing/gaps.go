package pacing

import (
	"encoding/csv"
	"strconv"
	"strings"
	"sync"
)

// others returns the gaps of senders that others measured: a row for each line of gaps.csv.
var others = sync.OnceValue(func() (all []Row) {
	text, err := files.ReadFile("gaps.csv")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r := csv.NewReader(strings.NewReader(string(text)))
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil {
		panic("BUG: gaps.csv: " + err.Error())
	}
	for _, line := range lines[1:] {
		row := Row{Cell: Cell{Kind: published}, Published: line[0]}
		for i, to := range []*float64{&row.OfAlone, &row.OfUpTo5} {
			if *to, err = strconv.ParseFloat(line[2+i], 64); err != nil {
				panic("BUG: gaps.csv: " + err.Error())
			}
		}
		all = append(all, row)
	}
	return all
})
