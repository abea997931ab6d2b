//go:build !js

package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"tcpwheel/experiments"
)

// parseShard reads a shard. "i/n" names it. "auto/n" takes i from the variables of a Kubernetes
// indexed Job or a Slurm array, and "auto" takes both from a Slurm array. "" is the whole run.
func parseShard(text string, env func(string) string) (s experiments.Shard, err error) {
	if text == "" {
		return s, nil
	}
	const form = "want i/n, auto or auto/n"
	index, of, counted := strings.Cut(text, "/")
	if counted {
		if s.Of, err = strconv.Atoi(of); err != nil || s.Of < 1 {
			return experiments.Shard{}, errors.New(form)
		}
	}
	switch {
	case index != "auto" && !counted:
		return s, errors.New(form)
	case index != "auto":
		if s.Index, err = strconv.Atoi(index); err != nil {
			return experiments.Shard{}, errors.New(form)
		}
	case counted:
		if s.Index, err = shardIndex(env); err != nil {
			return experiments.Shard{}, err
		}
	default:
		if s, err = slurmShard(env); err != nil {
			return experiments.Shard{}, err
		}
	}
	return s, s.Check()
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
func slurmShard(env func(string) string) (s experiments.Shard, err error) {
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
	return experiments.Shard{Index: (id - least) / step, Of: count}, nil
}

// shareOf returns which of some captures, by their costs, are those of a shard.
func shareOf(text string) (share func(costs []float64) []int, err error) {
	shard, err := parseShard(text, os.Getenv)
	return shard.Share, err
}
