package cli

import (
	"strings"
	"testing"
)

// TestGlossaryTerms checks that each term has one short line.
func TestGlossaryTerms(t *testing.T) {
	seen := map[string]bool{}
	for _, part := range glossary {
		for _, term := range part.terms {
			if seen[term.name] {
				t.Errorf("%s is explained twice", term.name)
			}
			seen[term.name] = true
			if n := len(strings.Fields(term.meaning)); n > 24 || strings.HasSuffix(term.meaning, ".") || strings.Contains(term.meaning, "|") {
				t.Errorf("%s: %d words, want at most 24 without a full stop or a bar: %s", term.name, n, term.meaning)
			}
		}
	}
}

// TestGlossaryOfRecords checks that each record has fields, each with a short line.
func TestGlossaryOfRecords(t *testing.T) {
	for _, r := range records {
		n := 0
		for _, part := range recordParts("record " + r.name) {
			n += len(part.terms)
			for _, term := range part.terms {
				if words := len(strings.Fields(term.meaning)); words > 24 || strings.HasSuffix(term.meaning, ".") {
					t.Errorf("%s of %s: %d words, want at most 24 without a full stop: %s", term.name, r.name, words, term.meaning)
				}
			}
		}
		if n == 0 {
			t.Errorf("record %s explains no field", r.name)
		}
	}
	var b strings.Builder
	if err := writeGlossary(&b, "d_s"); err != nil || !strings.Contains(b.String(), "record episode") || !strings.Contains(b.String(), "record recovery") {
		t.Errorf("d_s: %v\n%s", err, &b)
	}
}

// TestGlossaryOfSettings checks that each setting has its values and a line, and that any of its
// names finds it, with _ or -.
func TestGlossaryOfSettings(t *testing.T) {
	all := settingParts("settings")
	for _, part := range all {
		if len(part.terms) < 5 {
			t.Errorf("%s: %d", part.title, len(part.terms))
		}
		for _, term := range part.terms {
			if value, help, _ := strings.Cut(term.meaning, ": "); value == "" || help == "" || strings.HasSuffix(help, ".") {
				t.Errorf("%s: %q", term.name, term.meaning)
			}
		}
	}
	for _, want := range []string{"rto-min", "rto_min", "floor"} {
		var b strings.Builder
		if err := writeGlossary(&b, want); err != nil || !strings.Contains(b.String(), "rto-min, floor  duration, 1ns to 24h: floor on the RTO") {
			t.Errorf("%s: %v\n%s", want, err, &b)
		}
	}
}
