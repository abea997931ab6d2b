package report

import (
	"encoding/json"

	"tcpwheel/experiments"
)

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
