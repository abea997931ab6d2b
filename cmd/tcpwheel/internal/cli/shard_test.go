package cli

import "testing"

func TestParseShard(t *testing.T) {
	slurm := func(id, least, most, count string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_MIN": least, "SLURM_ARRAY_TASK_MAX": most, "SLURM_ARRAY_TASK_COUNT": count}
	}
	job := map[string]string{"JOB_COMPLETION_INDEX": "3"}
	for _, c := range []struct {
		text string
		env  map[string]string
		want shard
		err  string
	}{
		{"", nil, shard{}, ""},
		{"2/8", job, shard{index: 2, of: 8}, ""},
		{"auto/8", job, shard{index: 3, of: 8}, ""},
		{"auto/8", slurm("7", "0", "7", "8"), shard{index: 7, of: 8}, ""},
		{"auto", slurm("7", "0", "7", "8"), shard{index: 7, of: 8}, ""},
		{"auto", slurm("8", "1", "8", "8"), shard{index: 7, of: 8}, ""},
		{"auto", slurm("5", "1", "7", "4"), shard{index: 2, of: 4}, ""},
		{"auto", slurm("4", "4", "4", "1"), shard{index: 0, of: 1}, ""},
		{"auto", slurm("3", "0", "7", "3"), shard{}, "the array has 3 tasks from 0 to 7, which are not evenly spaced, want auto/n"},
		{"auto", slurm("3", "0", "", "3"), shard{}, `SLURM_ARRAY_TASK_MAX is "", want a whole number`},
		{"auto", job, shard{}, "a Kubernetes Job does not say its number of pods, want auto/n"},
		{"auto", nil, shard{}, "SLURM_ARRAY_TASK_ID is not set, want a task of an array"},
		{"auto/2", nil, shard{}, "neither JOB_COMPLETION_INDEX nor SLURM_ARRAY_TASK_ID is set, want an indexed Job or an array"},
		{"auto/3", job, shard{}, "shard 3 of 3, want one of 0 to n-1 of n, and n from 1 to 10000"},
		{"auto/2", map[string]string{"JOB_COMPLETION_INDEX": "x"}, shard{}, `JOB_COMPLETION_INDEX is "x", want a whole number`},
		{"1", nil, shard{}, "want i/n, auto or auto/n"},
		{"x/2", nil, shard{}, "want i/n, auto or auto/n"},
		{"0/0", nil, shard{}, "want i/n, auto or auto/n"},
		{"-1/2", nil, shard{}, "shard -1 of 2, want one of 0 to n-1 of n, and n from 1 to 10000"},
	} {
		got, err := parseShard(c.text, func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("parseShard(%q, %v): %v, want %s", c.text, c.env, err, c.err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("parseShard(%q, %v) = %v, %v, want %v", c.text, c.env, got, err, c.want)
		}
	}
}
