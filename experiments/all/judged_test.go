package all

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcpwheel/experiments"
)

// TestSameOutcome judges the cells of a report again, and compares claims, tables, figures and
// notes with those in the report, to the byte. So a change of a judge is compared in seconds:
//
//	tcpwheel experiment run STUDY --quick --out DIR     with the program before the change
//	TCPWHEEL_REPORT=DIR go test ./experiments/all -run TestSameOutcome
func TestSameOutcome(t *testing.T) {
	folder := os.Getenv("TCPWHEEL_REPORT")
	if folder == "" {
		t.Skip("TCPWHEEL_REPORT names no report")
	}
	files := os.DirFS(folder)
	for _, s := range Studies() {
		text, err := fs.ReadFile(files, s.Name+"/result.json")
		if err != nil {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			var was struct {
				Quick   bool                `json:"quick"`
				Outcome experiments.Outcome `json:"outcome"`
			}
			if err := json.Unmarshal(text, &was); err != nil {
				t.Fatal(err)
			}
			j, err := s.Open(was.Quick)
			if err != nil {
				t.Fatal(err)
			}
			out, err := j.Judge(cellsOf(t, filepath.Join(folder, s.Name, "cells.jsonl")))
			if err != nil {
				t.Fatal(err)
			}
			if was.Quick { // as in a report of this study alone
				experiments.SettleVerdicts(out)
				out.DoubtQuick()
			}
			before, after := linesOf(t, &was.Outcome), linesOf(t, out)
			wrong := 0
			for i := range max(len(before), len(after)) {
				var a, b string
				if i < len(before) {
					a = before[i]
				}
				if i < len(after) {
					b = after[i]
				}
				if a == b {
					continue
				}
				t.Errorf("line %d of the outcome:\n  was %s\n  is  %s", i+1, strings.TrimSpace(a), strings.TrimSpace(b))
				if wrong++; wrong > 10 {
					t.Fatal("and more")
				}
			}
		})
	}
}

// linesOf returns an outcome as JSON, a value in each line. Which verdicts are unsettled depends on
// the other studies of a run, so it does not count.
func linesOf(t *testing.T, out *experiments.Outcome) []string {
	t.Helper()
	for i := range out.Claims {
		out.Claims[i].Unsettled = false
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// cellsOf reads the results of cells.jsonl, in the order of the cells.
func cellsOf(t *testing.T, name string) (all []json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		var cell struct {
			Cell   int             `json:"cell"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(lines.Bytes(), &cell); err != nil || lines.Err() != nil {
			t.Fatal(err, lines.Err())
		}
		if cell.Result == nil {
			continue // the heading
		}
		if cell.Cell != len(all) {
			t.Fatalf("%s: cell %d in place %d", name, cell.Cell, len(all))
		}
		all = append(all, cell.Result)
	}
	return all
}
