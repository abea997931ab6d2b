package datacentre

import (
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/studytest"
)

// linux618 is what Linux 6.18 at HZ 250 does with the trials.
func linux618() (all []Kernel) {
	const ms = time.Millisecond
	for _, t := range trials() {
		k := Kernel{Setting: t.name, Done: true, Floor: t.floor, Jiffy: 4 * ms, SRTT: ms, ATO: 40 * ms, Groups: 20,
			Waited: 40 * ms}
		least := (t.floor + 4*ms - 1).Truncate(4 * ms)
		k.RTO = least + 4*ms
		if least < 200*ms && t.client != nil {
			k.ATO = max(least-4*ms, 4*ms)
		}
		switch t.name {
		case "floor, sender only":
			k.Resent = 20
		case "no delayed ACKs":
			k.Waited = ms / 10
		case "fine timestamps":
			k.Fine = true
		case "floor 200 us by route":
			k = Kernel{Setting: t.name, Refused: "invalid"}
		}
		all = append(all, k)
	}
	return all
}

// TestKernelClaims checks each claim of the live part with a kernel that has the rule and one that
// has not.
func TestKernelClaims(t *testing.T) {
	p := studytest.Own[Plan](t, Study)
	out := studytest.Judge(t, judgeKernel, p, linux618())
	studytest.Check(t, out)
	studytest.Want(t, out, experiments.Reproduced)
	for claim, wrong := range map[string]func(k *Kernel){
		"rto":        func(k *Kernel) { k.RTO = k.Floor },
		"ato":        func(k *Kernel) { k.ATO = 40 * time.Millisecond },
		"precedence": func(k *Kernel) { k.RTO = 12 * time.Millisecond },
		"spurious":   func(k *Kernel) { k.Resent = 20 },
		"quickack":   func(k *Kernel) { k.Waited = 40 * time.Millisecond },
		"stamps":     func(k *Kernel) { k.Fine = false },
	} {
		all := linux618()
		for i := range all {
			wrong(&all[i])
		}
		studytest.Want(t, studytest.Judge(t, judgeKernel, p, all), experiments.NotReproduced, claim)
	}
	// A kernel of 6.5 has neither the sysctl nor the feature.
	all := linux618()
	for i := range all {
		if k := &all[i]; k.Setting == "route and sysctl" || k.Setting == "fine timestamps" {
			*k = Kernel{Setting: k.Setting, Refused: "no such file"}
		}
	}
	studytest.Want(t, studytest.Judge(t, judgeKernel, p, all), experiments.NotApplicable, "precedence", "stamps")
}

// TestKernel runs the settings on this machine's kernel. Only readings that no busy machine moves
// are checked.
func TestKernel(t *testing.T) {
	out := studytest.Live(t, Study, "kernel", "")
	if rows := out.Tables[0].Rows; len(rows) != len(trials()) {
		t.Fatalf("%d rows, want %d", len(rows), len(trials()))
	}
	studytest.Want(t, out, experiments.Reproduced, "precedence", "stamps")
}
