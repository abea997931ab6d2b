package truth

import (
	"fmt"
	"io"
	"io/fs"
	"slices"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/tcptimers"
)

// KernelRuns are runs of the same scenarios between kernels, with the same losses, under settings
// that a policy is nearest to.
type KernelRuns struct {
	Name   string
	Policy tcptimers.Policy
	Dirs   []fs.FS // by scenario, as Load reads them
}

// JudgeKernels replays the captures of each of several settings under the policies of the others,
// and compares the verdicts with what happened there. All have the same number of directories. It
// needs one connection in each.
func JudgeKernels(name string, runs []KernelRuns) (*Replays, error) {
	all := make([][]*Kernels, len(runs))
	for i, run := range runs {
		for _, dir := range run.Dirs {
			k, err := Load(dir)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], k)
		}
	}
	r := &Replays{}
	for i, run := range runs {
		t := twins{name: fmt.Sprintf("%s %s", run.Name, name), captured: run.Name, study: &replay.Study{}}
		var others []int
		for k := range runs {
			if k == i {
				continue
			}
			t.study.Choices, others = append(t.study.Choices, replay.NewChoice(runs[k].Name, runs[k].Policy)), append(others, k)
		}
		if err := t.judgeKernels(r, all, i, others); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// judgeKernels judges the captures of the i-th runs. others are those of the choices.
func (t *twins) judgeKernels(r *Replays, all [][]*Kernels, i int, others []int) error {
	for side := range Sides {
		t.flow, t.under = nil, make([][]*Flow, len(others))
		var results []*replay.Result
		for n, k := range all[i] {
			if !slices.Contains(k.Points, side) {
				continue
			}
			x, err := resultOf(t.study, t.name, func(add func(*capture.Packet)) error { return k.read(side, add) })
			if err != nil {
				return err
			}
			flow := k.fromA()
			if x == nil || flow == nil {
				continue
			}
			results, t.flow = append(results, x), append(t.flow, flow)
			for c, o := range others {
				t.under[c] = append(t.under[c], all[o][n].fromA())
			}
		}
		t.judge(r, Side(side), results)
	}
	return nil
}

// fromA returns the flow of a, nil if there is none.
func (k *Kernels) fromA() (from *Flow) {
	for _, f := range k.Flows {
		if f.Src.Addr().Less(f.Dst.Addr()) {
			from = f
		}
	}
	return from
}

// read passes each packet of the capture at a point to each.
func (k *Kernels) read(point int, each func(*capture.Packet)) error {
	name := pointNames[point] + ".pcapng.gz"
	in, err := k.dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return readCapture(in, name, each)
}

// readCapture passes each packet of a capture to each.
func readCapture(in io.Reader, name string, each func(*capture.Packet)) error {
	r, err := capture.NewReader(in, name)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		p, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		each(p)
	}
}
