package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestWrongWords mistypes a name of each kind: the hint has the right one.
func TestWrongWords(t *testing.T) {
	for line, want := range map[string]string{
		"dmeo":                       "demo",
		"experiment rum vegas":       "run",
		"analyze --jsn sample:burst": "--json",
		"link --dleay 3ms":           "--delay",
		"experiment run veags":       "vegas",
		"experiment show expiri":     "expiry",
	} {
		var out, talk bytes.Buffer
		status := run(strings.Fields(line), strings.NewReader(""), &out, &talk)
		if hint := "tcpwheel: hint: did you mean '" + want + "'?\n"; status == exitOK || out.Len() > 0 || !strings.HasSuffix(talk.String(), hint) {
			t.Errorf("%s: exit status %d, %q, %q, want %q", line, status, &out, &talk, hint)
		}
	}
	var talk bytes.Buffer
	const said = "sample:brust/a.pcapng.gz: no such sample, did you mean sample:burst?\n"
	if status := run([]string{"analyze", "sample:brust/a.pcapng.gz"}, nil, &talk, &talk); status != exitFailed || !strings.HasSuffix(talk.String(), said) {
		t.Errorf("exit status %d, %q, want %q", status, &talk, said)
	}
}
