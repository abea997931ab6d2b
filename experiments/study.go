package experiments

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tcpwheel/experiments/plan"
)

// Class says how far to trust a study.
type Class string

// The classes of studies.
const (
	Exact     Class = "A" // exact or analytic: the result is a law and holds to the last digit
	Published Class = "P" // compared with published figures, within a band set beforehand
	Shape     Class = "S" // compared with a published shape: an order, a knee, a trade-off
)

// Spec defines a study. P is its plan, a struct that package plan decodes. R is the result of a
// cell, which encoding/json must write and read without loss: no NaN, infinity or unexported field.
type Spec[P, R any] struct {
	ID    string // such as "E12"
	Name  string // on the command line
	Class Class
	// Bed is what the runs need around the TCP or wheel under test, such as "pair" or "fan-in".
	// Studies of one bed have measures in common. "" is a bed of the study's own, by its name.
	Bed string

	Words func() Words

	// Base is a study with the same plan, of which plan.yaml lists the differences, and which it names.
	// It may be nil.
	Base *Study

	// Folder is the study's folder below experiments; "" is Name.
	Folder string
	// Files has README.md and plan.yaml of the study. They are in the package's folder, or in what
	// follows the first slash of Folder: those of "wheels/fig9" are fig9/README.md and so on.
	Files fs.FS

	// Check finds faults of a decoded plan beyond its tags, such as two fields that exclude each
	// other. It may be nil.
	Check func(p *P) error

	// Applies returns why a plan leaves all claims without meaning, such as a round trip that is
	// longer than what is measured, or nil. Its cells then do not run, and the judge gets none. It may
	// be nil.
	Applies func(p *P) error

	// Cells cuts the plan into cells. Their order depends on the plan alone.
	Cells func(p *P) []Cell[R]

	// Judge makes the outcome from the results, in the order of the cells.
	Judge func(p *P, cells []R) (*Outcome, error)

	// Live are the parts that use this machine's kernel. It may be nil.
	Live []LivePart[P]
}

// Cell is an independent part of a study.
type Cell[R any] struct {
	Name string  // its parameters, unique within the study, such as "policy=bsd rtt=20ms seed=3"
	Cost float64 // estimated CPU time in s, above 0; it decides the order
	// Run must always return the same result, on any machine. Other cells run at the same time.
	Run func(ctx context.Context) (R, error)
}

// Seeded returns a cell for each of so many seeds from first on, whose names end in it.
func Seeded[R any](first, seeds int, name string, cost float64, run func(seed int) (R, error)) (all []Cell[R]) {
	for seed := first; seed < first+seeds; seed++ {
		all = append(all, Cell[R]{fmt.Sprintf("%s seed=%d", name, seed), cost,
			func(context.Context) (R, error) { return run(seed) }})
	}
	return all
}

// LivePart is a part of a study whose figures hold for one machine.
type LivePart[P any] struct {
	Name string // such as "kernel"
	// Needs returns why it cannot run here, such as "root", or nil.
	Needs func() error
	Run   func(ctx context.Context, p *P) (*Outcome, error)
}

// Study is a study with any types of plan and cells. Define makes one.
type Study struct {
	ID, Name string
	Class    Class
	Folder   string // below experiments
	Bed      string // see Spec

	files fs.FS
	below string // the folder of its own files there
	// open decodes the plan of the study, and then the others, which list their differences.
	open  func(quick bool, over ...*plan.File) (*Job, error)
	plan  func() any // a new P
	words func() Words
}

// Question returns the question of the study, in one line.
func (s *Study) Question() string {
	return s.words().Question
}

// Words are what a study says of itself.
type Words struct {
	Question string // in one line
	// Found says what the study found, in one or two sentences: {claim} is the measured value of a
	// claim, {claim#} its number alone.
	Found string
}

// Job is a study with a plan, ready to run.
type Job struct {
	Study *Study
	Plan  string // its text: the study's own, or that of a user
	Quick bool
	User  bool // the plan is a user's

	Cells []Work
	Live  []LiveWork

	judge func(results []json.RawMessage) (*Outcome, error)
}

// Words returns the words of the study.
func (j *Job) Words() Words { return j.Study.words() }

// Work is a cell whose result is JSON.
type Work struct {
	Name string
	Cost float64
	Run  func(ctx context.Context) (json.RawMessage, error)
}

// LiveWork is a LivePart of a plan.
type LiveWork struct {
	Name  string
	Needs func() error
	Run   func(ctx context.Context) (*Outcome, error)
}

// NewPlan returns a pointer to a plan with zero values.
func (s *Study) NewPlan() any { return s.plan() }

// Readme returns the text of README.md.
func (s *Study) Readme() string { return s.mustRead("README.md") }

// Plan returns the text of plan.yaml.
func (s *Study) Plan() string { return s.mustRead("plan.yaml") }

// Define makes a study. Readme, Plan and the first Open panic if the study's own files are missing
// or wrong, and not Define: every run of the program defines all studies. TestStudies of package
// experiments/all finds such faults.
func Define[P, R any](s Spec[P, R]) *Study {
	study := &Study{ID: s.ID, Name: s.Name, Class: s.Class, Folder: cmp.Or(s.Folder, s.Name), words: s.Words,
		Bed: cmp.Or(s.Bed, s.Name)}
	study.files, study.plan = s.Files, func() any { return new(P) }
	_, study.below, _ = strings.Cut(study.Folder, "/")
	own := sync.OnceValue(func() []*plan.File {
		if s.Base == nil {
			return []*plan.File{mustParse[P](s.Name, s.Name, study.Plan())}
		}
		return []*plan.File{mustParse[P](s.Base.Name, s.Base.Name, s.Base.Plan()),
			mustParse[P](s.Name, s.Base.Name, study.Plan())}
	})
	study.open = func(quick bool, over ...*plan.File) (*Job, error) {
		p, last := new(P), (*plan.File)(nil)
		for _, last = range append(slices.Clone(own()), over...) {
			if err := last.Decode(p, quick); err != nil {
				return nil, err
			}
		}
		if s.Check != nil {
			if err := s.Check(p); err != nil {
				return nil, last.Locate(err, quick)
			}
		}
		return newJob(study, quick, &s, p)
	}
	return study
}

func (s *Study) mustRead(name string) string {
	text, err := fs.ReadFile(s.files, path.Join(s.below, name))
	if err != nil {
		panic(fmt.Sprintf("BUG: study %s: %v", s.Name, err))
	}
	return string(text)
}

// mustParse returns a study's own plan, which names the study of. It must decode into P for quick and
// whole runs.
func mustParse[P any](study, of, text string) *plan.File {
	own, err := plan.Parse(study+"/plan.yaml", []byte(text))
	if err == nil && own.Study != of {
		err = fmt.Errorf("%s: study: %q, want %q", own.Name, own.Study, of)
	}
	if err == nil {
		err = own.Decode(new(P), true)
	}
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return own
}

// Open returns the study with its own plan, for a quick run or a whole one.
func (s *Study) Open(quick bool) (*Job, error) { return s.open(quick) }

// OpenPlan returns the study with a user's plan over its own. nil is no plan of a user.
func (s *Study) OpenPlan(source *plan.File, quick bool) (*Job, error) {
	if source == nil {
		return s.open(quick)
	}
	j, err := s.open(quick, source)
	if err == nil {
		j.Plan, j.User = string(source.Text), true
	}
	return j, err
}

func newJob[P, R any](study *Study, quick bool, s *Spec[P, R], p *P) (*Job, error) {
	j := &Job{Study: study, Plan: study.Plan(), Quick: quick}
	seen := map[string]bool{}
	var cells []Cell[R]
	if s.Applies == nil || s.Applies(p) == nil {
		cells = s.Cells(p)
	}
	for _, c := range cells {
		if c.Name == "" || seen[c.Name] || !(c.Cost > 0) {
			return nil, fmt.Errorf("study %s: cell %q: want a name of its own, and a cost above 0", s.Name, c.Name)
		}
		seen[c.Name] = true
		j.Cells = append(j.Cells, Work{c.Name, rounded(c.Cost), func(ctx context.Context) (json.RawMessage, error) {
			r, err := c.Run(ctx)
			if err != nil {
				return nil, err
			}
			return MarshalCell(r)
		}})
	}
	for _, l := range s.Live {
		j.Live = append(j.Live, LiveWork{l.Name, l.Needs, func(ctx context.Context) (*Outcome,
			error) {
			return l.Run(ctx, p)
		}})
	}
	j.judge = func(raw []json.RawMessage) (*Outcome, error) {
		results := make([]R, len(raw))
		for i := range raw {
			if err := UnmarshalCell(raw[i], &results[i]); err != nil {
				return nil, fmt.Errorf("study %s, cell %q: %w", s.Name, j.Cells[i].Name, err)
			}
		}
		out, err := s.Judge(p, results)
		if err != nil {
			return nil, fmt.Errorf("study %s: %w", s.Name, err)
		}
		return out, nil
	}
	return j, nil
}

// rounded keeps three digits, so all machines run the cells in one order.
func rounded(cost float64) float64 {
	x, err := strconv.ParseFloat(strconv.FormatFloat(cost, 'g', 3, 64), 64)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return x
}

// Judge makes the outcome from the results of all cells, in order.
func (j *Job) Judge(results []json.RawMessage) (*Outcome, error) {
	if len(results) != len(j.Cells) {
		return nil, fmt.Errorf("study %s: %d results of %d cells", j.Study.Name, len(results), len(j.Cells))
	}
	out, err := j.judge(results)
	if err != nil {
		return nil, err
	}
	return out, out.Check()
}
