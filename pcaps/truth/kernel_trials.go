package truth

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

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

	// Again are second runs of the scenarios, under the same settings. What differs between both is
	// the noise of the truth.
	Again []fs.FS
}

// load loads the runs of the scenarios.
func (r *KernelRuns) load() (runs kernelPairs, err error) {
	for i := range r.Dirs {
		var pair [2]*Kernels
		for n, dir := range []fs.FS{r.Dirs[i], r.Again[i]} {
			if pair[n], err = Load(dir); err != nil {
				return nil, err
			}
		}
		runs = append(runs, pair)
	}
	return runs, nil
}

// kernelPairs are the two runs of each scenario.
type kernelPairs [][2]*Kernels

// late returns how late the machine was at most.
func (p kernelPairs) late() (late time.Duration) {
	for _, pair := range p {
		late = max(late, pair[0].Late, pair[1].Late)
	}
	return late
}

// JudgeKernels replays the captures of each of several settings under the policies of the others,
// and compares the verdicts with what happened there. All have the same number of directories. It
// needs one connection in each.
func JudgeKernels(name string, runs []KernelRuns) (*Replays, error) {
	all := make([]kernelPairs, len(runs))
	for i := range runs {
		var err error
		if all[i], err = runs[i].load(); err != nil {
			return nil, err
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
			t.late = append(t.late, max(all[i].late(), all[k].late()))
		}
		if err := t.judgeKernels(r, all, i, others); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// judgeKernels judges the captures of the i-th runs. others are those of the choices.
func (t *twins) judgeKernels(r *Replays, all []kernelPairs, i int, others []int) error {
	for side := range Sides {
		t.flow, t.under = nil, make([][]flowRuns, len(others))
		var results []*replay.Result
		for n, pair := range all[i] {
			k := pair[0]
			if !slices.Contains(k.Points, side) {
				continue
			}
			x, err := resultOf(t.study, t.name, anyConn, func(rec *replay.Recorder) error { return k.read(side, rec.Add) })
			if err != nil {
				return err
			}
			if x == nil || len(k.fromA().Sent) == 0 {
				continue
			}
			results, t.flow = append(results, x), append(t.flow, fromA(pair))
			for c, o := range others {
				t.under[c] = append(t.under[c], fromA(all[o][n]))
			}
		}
		t.judge(r, Side(side), results)
	}
	return nil
}

// fromA returns the flow of a in each run.
func fromA(pair [2]*Kernels) flowRuns { return flowRuns{pair[0].fromA(), pair[1].fromA()} }

// fromA returns the flow of a, an empty one if there is none.
func (k *Kernels) fromA() *Flow {
	from := &Flow{}
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
