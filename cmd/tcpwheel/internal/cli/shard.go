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

// check returns an error unless 0 ≤ index < of ≤ 10,000 or s is the zero value.
func (s shard) check() error {
	if s != (shard{}) && (s.of < 1 || s.of > 10_000 || s.index < 0 || s.index >= s.of) {
		return fmt.Errorf("shard %d of %d, want one of 0 to n-1 of n, and n from 1 to 10000", s.index, s.of)
	}
	return nil
}

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

// parseShard reads a shard. "i/n" names it. "auto/n" takes i from the variables of a Kubernetes
// indexed Job or a Slurm array, and "auto" takes both from a Slurm array. "" is the whole run.
func parseShard(text string, env func(string) string) (s shard, err error) {
	if text == "" {
		return s, nil
	}
	const form = "want i/n, auto or auto/n"
	index, of, counted := strings.Cut(text, "/")
	if counted {
		if s.of, err = strconv.Atoi(of); err != nil || s.of < 1 {
			return shard{}, errors.New(form)
		}
	}
	switch {
	case index != "auto" && !counted:
		return s, errors.New(form)
	case index != "auto":
		if s.index, err = strconv.Atoi(index); err != nil {
			return shard{}, errors.New(form)
		}
	case counted:
		if s.index, err = shardIndex(env); err != nil {
			return shard{}, err
		}
	default:
		if s, err = slurmShard(env); err != nil {
			return shard{}, err
		}
	}
	return s, s.check()
}

// envNumber reads a variable that is a whole number.
func envNumber(env func(string) string, name string) (int, error) {
	n, err := strconv.Atoi(env(name))
	if err != nil {
		return 0, fmt.Errorf("%s is %q, want a whole number", name, env(name))
	}
	return n, nil
}

// shardIndex returns the index of this process in a Kubernetes indexed Job, or in a Slurm array
// that counts from 0.
func shardIndex(env func(string) string) (int, error) {
	for _, name := range []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"} {
		if env(name) != "" {
			return envNumber(env, name)
		}
	}
	return 0, errors.New("neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID is set, want an indexed Job or an array")
}

// slurmShard returns the place of this task in an evenly spaced array, such as 0-7 or 1-15:2.
func slurmShard(env func(string) string) (s shard, err error) {
	if env("SLURM_ARRAY_TASK_ID") == "" {
		if env("JOB_COMPLETION_INDEX") != "" {
			return s, errors.New("a Kubernetes Job does not say its number of pods, want auto/n")
		}
		return s, errors.New("SLURM_ARRAY_TASK_ID is not set, want a task of an array")
	}
	var v [4]int
	for i, name := range []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_COUNT"} {
		if v[i], err = envNumber(env, name); err != nil {
			return s, err
		}
	}
	id, least, most, count := v[0], v[1], v[2], v[3]
	step := 1
	if count > 1 {
		step = (most - least) / (count - 1)
	}
	if count < 1 || step < 1 || least+step*(count-1) != most || (id-least)%step != 0 {
		return s, fmt.Errorf("the array has %d tasks from %d to %d, which are not evenly spaced, want auto/n", count, least, most)
	}
	return shard{index: (id - least) / step, of: count}, nil
}
