package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tcpwheel/experiments"
)

// Report is the results of studies.
type Report struct {
	Program string // its version
	Quick   bool
	All     bool // all studies, each with its own plan
	Studies []Study
	Machine *Machine // where live parts ran; nil if none did
}

// Study is a study with its outcome.
type Study struct {
	Job     *experiments.Job
	Results []json.RawMessage
	Outcome *experiments.Outcome
	Live    []Live
}

// Live is the result of a live part, or why it could not run.
type Live struct {
	Name    string               `json:"name"`
	Outcome *experiments.Outcome `json:"outcome,omitempty"`
	Skipped string               `json:"skipped,omitempty"`
}

// Machine describes where live parts ran.
type Machine struct {
	OS     string `json:"os"` // and its architecture
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	CPUs   int    `json:"cpus"`
	Go     string `json:"go"`
}

// New judges the results of a run.
func New(program string, jobs []*experiments.Job, results experiments.Results) (*Report, error) {
	r := &Report{Program: program}
	var outcomes []*experiments.Outcome
	for _, j := range jobs {
		of := results[j.Study.Name]
		out, err := j.Judge(of)
		if err != nil {
			return nil, err
		}
		r.Quick = j.Quick
		r.Studies = append(r.Studies, Study{Job: j, Results: of, Outcome: out})
		outcomes = append(outcomes, out)
	}
	experiments.SettleVerdicts(outcomes...)
	for i, j := range jobs {
		if j.Quick {
			outcomes[i].DoubtQuick()
		}
	}
	return r, nil
}

// Command returns the command that reproduces the study's tables and figures.
func (s *Study) Command() string {
	what := s.Job.Study.Name
	if s.Job.User {
		what = what + "/plan.yaml"
	}
	return "tcpwheel experiment run " + what + quickFlag(s.Job.Quick) + " --out DIR"
}

// Command returns the command that reproduces the report.
func (r *Report) Command() string {
	what := "--all"
	if !r.All {
		what = ""
		for i := range r.Studies {
			if i > 0 {
				what += " "
			}
			what += r.Studies[i].Job.Study.Name
			if r.Studies[i].Job.User {
				what += "/plan.yaml"
			}
		}
	}
	return "tcpwheel experiment run " + what + quickFlag(r.Quick) + " --out DIR"
}

func quickFlag(quick bool) string {
	if quick {
		return " --quick"
	}
	return ""
}

// Counts is the number of claims by class and verdict. Only comparisons with results of others are
// counted by verdict: laws and checks test the studies and this project's own rules.
type Counts struct {
	Published, Reproduced, Differs, NotReproduced int
	Unsettled                                     int // of the published ones, by chance
	Laws, LawsHeld                                int
	Checks, ChecksPassed                          int
	NotApplicable                                 int // under the plan that ran; in no other count
	TooFew                                        int // seeds of a quick run; in no other count
}

// Count counts the claims, without live parts.
func (r *Report) Count() (n Counts) {
	for i := range r.Studies {
		n.add(r.Studies[i].Outcome)
	}
	return n
}

// CountOf counts the claims of one outcome.
func CountOf(o *experiments.Outcome) (n Counts) {
	n.add(o)
	return n
}

func (n *Counts) add(o *experiments.Outcome) {
	for _, c := range o.Claims {
		switch {
		case c.Verdict == experiments.NotApplicable:
			n.NotApplicable++
		case c.Verdict == experiments.TooFew:
			n.TooFew++
		case c.Class == experiments.Law:
			n.Laws++
			n.LawsHeld += holds(c)
		case c.Class == experiments.Check:
			n.Checks++
			n.ChecksPassed += holds(c)
		default:
			n.published(c)
		}
	}
}

func holds(c experiments.Claim) int {
	if c.Verdict == experiments.Reproduced {
		return 1
	}
	return 0
}

func (n *Counts) published(c experiments.Claim) {
	n.Published++
	if c.Unsettled {
		n.Unsettled++
	}
	switch c.Verdict {
	case experiments.Reproduced:
		n.Reproduced++
	case experiments.Differs:
		n.Differs++
	default:
		n.NotReproduced++
	}
}

// String returns the counts in words, published comparisons first.
func (n Counts) String() string {
	var parts []string
	add := func(count int, one, many, format string, args ...any) {
		if count > 0 {
			if count > 1 {
				one = many
			}
			parts = append(parts, fmt.Sprintf("%d %s: ", count, one)+fmt.Sprintf(format, args...))
		}
	}
	add(n.Published, "published result", "published results", "%d reproduced, %d differ, %d not reproduced",
		n.Reproduced, n.Differs, n.NotReproduced)
	add(n.Laws, "own law", "own laws", "%d hold", n.LawsHeld)
	add(n.Checks, "check", "checks", "%d pass", n.ChecksPassed)
	if n.NotApplicable > 0 {
		parts = append(parts, fmt.Sprintf("%d not applicable here", n.NotApplicable))
	}
	if n.TooFew > 0 {
		parts = append(parts, fmt.Sprintf("%d with too few seeds to tell", n.TooFew))
	}
	return strings.Join(parts, "; ")
}

// OpenClaim is a claim that was not reproduced, differs, has too few seeds, or does not apply.
type OpenClaim struct {
	Study *Study
	Claim experiments.Claim
}

// Open returns the claims that were not reproduced, then the claims that differ, then the claims
// that a quick run cannot judge, then the claims that do not apply. Comparisons with results of
// others come first, each in the order of the studies.
func (r *Report) Open() (all []OpenClaim) {
	for _, class := range claimClasses {
		for _, verdict := range []experiments.Verdict{experiments.NotReproduced, experiments.Differs,
			experiments.TooFew, experiments.NotApplicable} {
			for i := range r.Studies {
				for _, c := range r.Studies[i].Outcome.Claims {
					if c.Verdict == verdict && c.Class == class {
						all = append(all, OpenClaim{&r.Studies[i], c})
					}
				}
			}
		}
	}
	return all
}

var claimClasses = []experiments.ClaimClass{experiments.OfOthers, experiments.Law, experiments.Check}

// Violations names the claims of exact studies that were not reproduced, except doubted claims.
// Exact claims hold to the last digit, or something is broken.
func (r *Report) Violations() (all []string) {
	for i := range r.Studies {
		s := &r.Studies[i]
		if s.Job.Study.Class != experiments.Exact || s.Job.User {
			continue
		}
		for _, c := range s.Outcome.Claims {
			if c.Verdict == experiments.NotReproduced && !c.Doubted {
				all = append(all, s.Job.Study.Name+"/"+c.Name)
			}
		}
	}
	return all
}

// claimsFile is claims.json.
type claimsFile struct {
	Program string        `json:"program"`
	Quick   bool          `json:"quick"`
	Studies []studyRecord `json:"studies"`
	Claims  []claimRecord `json:"claims"`
}

type studyRecord struct {
	ID       string            `json:"id"`
	Study    string            `json:"study"`
	Class    experiments.Class `json:"class"`
	Question string            `json:"question"`
	Command  string            `json:"command"`
	Plan     string            `json:"plan_sha256"`
	Results  string            `json:"results_sha256"`
	Cells    int               `json:"cells"`
	UserPlan bool              `json:"user_plan,omitempty"`
}

type claimRecord struct {
	Study string `json:"study"`
	experiments.Claim
}

func (s *Study) record() studyRecord {
	j := s.Job
	return studyRecord{
		ID: j.Study.ID, Study: j.Study.Name, Class: j.Study.Class, Question: j.Study.Question(), Command: s.Command(),
		Plan: j.Hash(), Results: j.Digest(s.Results), Cells: len(j.Cells), UserPlan: j.User,
	}
}

// resultFile is NAME/result.json.
type resultFile struct {
	studyRecord
	Quick   bool                 `json:"quick"`
	Outcome *experiments.Outcome `json:"outcome"`
}

// liveFile is NAME/live-PART.json.
type liveFile struct {
	Study   string   `json:"study"`
	Machine *Machine `json:"machine"`
	Live
}

func (r *Report) claims() claimsFile {
	f := claimsFile{Program: r.Program, Quick: r.Quick, Claims: []claimRecord{}}
	for i := range r.Studies {
		s := &r.Studies[i]
		f.Studies = append(f.Studies, s.record())
		for _, c := range s.Outcome.Claims {
			f.Claims = append(f.Claims, claimRecord{s.Job.Study.Name, c})
		}
	}
	return f
}

// JSON returns the study with its outcome, on one line.
func (s *Study) JSON() ([]byte, error) {
	return json.Marshal(resultFile{s.record(), s.Job.Quick, s.Outcome})
}

// Has reports whether the report has these studies, in their order and with their own plans.
func (r *Report) Has(all []*experiments.Study) bool {
	return slices.EqualFunc(r.Studies, all, func(s Study, want *experiments.Study) bool {
		return s.Job.Study == want && !s.Job.User
	})
}
