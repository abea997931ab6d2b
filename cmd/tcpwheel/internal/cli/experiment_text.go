//go:build !js

package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/plan"
	findings "tcpwheel/experiments/report"
)

// writeJSON writes a line for the study's results and one for each of its live parts.
func writeJSON(w io.Writer, s *findings.Study, m *findings.Machine) error {
	line, err := s.JSON()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
		return err
	}
	for _, l := range s.Live {
		err := newJSONLines(w).Encode(struct {
			Study   string            `json:"study"`
			Machine *findings.Machine `json:"machine"`
			Live    findings.Live     `json:"live"`
		}{s.Job.Study.Name, m, l})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeStudy prints a study's results.
func writeStudy(w io.Writer, s *findings.Study) error {
	var b bytes.Buffer
	study := s.Job.Study
	if asked := plan.Question(s.Job.Plan); s.Job.User && asked != "" {
		writeWrapped(&b, "", asked)
	}
	question := s.Job.Words().Question
	writeWrapped(&b, "", fmt.Sprintf("%s %s: %s", study.ID, study.Name, question))
	b.WriteString("\n")
	found := s.Found()
	if strings.Contains(found, "{") { // a claim that this plan does not have
		found = ""
	}
	writeOutcome(&b, s.Outcome, found)
	for _, l := range s.Live {
		fmt.Fprintf(&b, "Timed on this machine: %s\n\n", l.Name)
		if l.Skipped != "" {
			writeWrapped(&b, "  ", "skipped: "+l.Skipped)
			b.WriteString("\n")
			continue
		}
		writeOutcome(&b, l.Outcome, "")
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeOutcome prints the answer first: the count of claims, what was found, and the claims. The
// tables follow.
func writeOutcome(b *bytes.Buffer, out *experiments.Outcome, found string) {
	if len(out.Claims) > 0 {
		fmt.Fprintf(b, "%s.\n\n", findings.CountOf(out))
	}
	if found != "" {
		writeWrapped(b, "", found)
		b.WriteString("\n")
	}
	if len(out.Claims) > 0 {
		for _, c := range out.Claims {
			writeClaim(b, "", c)
		}
		b.WriteString("\n")
	}
	for _, w := range out.Warnings {
		writeWrapped(b, "", "Warning: "+w)
		b.WriteString("\n")
	}
	for i := range out.Tables {
		if !out.Tables[i].Data {
			writeTable(b, &out.Tables[i])
		}
	}
	for _, n := range out.Notes {
		writeWrapped(b, "", n)
		b.WriteString("\n")
	}
}

func writeTable(b *bytes.Buffer, t *experiments.Table) {
	writeWrapped(b, "", t.Title)
	var rows [][]string
	flush := make([]bool, len(t.Columns))
	for _, r := range t.Rows {
		var row []string
		for c, v := range r {
			row = append(row, experiments.Text(v))
			flush[c] = flush[c] || experiments.IsNumber(v)
		}
		rows = append(rows, row)
	}
	writeColumns(b, t.Columns, rows, flush) // cannot fail in memory
	b.WriteString("\n")
}

func writeClaim(b *bytes.Buffer, study string, c experiments.Claim) {
	writeWrapped(b, "    ", fmt.Sprintf("%s: %s%s", c.VerdictText(), study, c.Text))
	if c.Verdict == experiments.NotApplicable {
		writeWrapped(b, "    ", "    "+c.Why)
		return
	}
	text := "measured " + c.Measured.String()
	if in := c.Measured.Interval(); in != "" {
		text += " (" + in + ")"
	}
	if c.Published != "" {
		text += "; published " + c.Published
	}
	text += fmt.Sprintf("; expected %s; %s", c.Expected, c.Source)
	if c.Class != experiments.OfOthers {
		text += "; a " + string(c.Class) + " of this project"
	}
	if c.Unsettled {
		text += "; chance may have decided the verdict"
	}
	writeWrapped(b, "    ", "    "+text)
	if c.Why != "" {
		writeWrapped(b, "    ", "    "+c.Why)
	}
}

// writeSummary prints the number of claims by verdict, and the claims that are not reproduced.
func writeSummary(w io.Writer, r *findings.Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", r.Count())
	for _, o := range r.Open() {
		b.WriteString("\n")
		writeClaim(&b, o.Study.Job.Study.Name+": ", o.Claim)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// thisMachine describes the machine of live parts.
func thisMachine() *findings.Machine {
	m := &findings.Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), CPU: processorModel()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	return m
}
