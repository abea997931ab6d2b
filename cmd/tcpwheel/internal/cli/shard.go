package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shard is part index, counted from 0, of so many parts of the captures. The zero value is all.
type shard struct{ index, of int }

// share returns the indices of the captures in the shard, most costly first. It balances the cost:
// each capture, from the most costly down, goes to the shard with the least cost so far.
func (s shard) share(costs []float64) []int {
	all := make([]int, len(costs))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	if s.of < 2 {
		return all
	}
	var mine []int
	load := make([]float64, s.of)
	for _, t := range all {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		load[least] += costs[t]
		if least == s.index {
			mine = append(mine, t)
		}
	}
	return mine
}

// mostShards bounds the parts of a run.
const mostShards = 10_000

// parseShard reads "i/n". "" is the whole run.
func parseShard(text string) (s shard, err error) {
	if text == "" {
		return s, nil
	}
	index, of, _ := strings.Cut(text, "/")
	if s.index, err = strconv.Atoi(index); err == nil {
		s.of, err = strconv.Atoi(of)
	}
	switch {
	case err != nil || s.of < 1:
		return shard{}, errors.New("want i/n")
	case s.of > mostShards || s.index < 0 || s.index >= s.of:
		return s, fmt.Errorf("shard %d of %d, want one of 0 to n-1 of n, and n from 1 to %d", s.index, s.of, mostShards)
	}
	return s, nil
}
