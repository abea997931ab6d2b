package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestCompletion asks as a shell does.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"up --policy per":               "per-segment :4",
		"up --tcp g":                    "gvisor :4",
		"up --rate trace":               "trace:sample:cellular trace:sample:handover :4",
		"replay --policy captured,wind": "captured,windows :4",
		"demo --lanes bsd,linux,gv":     "bsd,linux,gvisor :4",
		"wheel bench --workloads r":     "rearm ratas :4",
		"analyze sample:b":              "sample:burst sample:burst-ipv6 :0",
		"replay sample:burst sample:b":  "sample:burst-ipv6 :0",
		"experiment show v":             "vegas :4",
		"experiment run vegas v":        ":0",
		"experiment run exp":            "expiry :0",
		"experiment sh":                 "show :4",
		"analyze --js":                  "--json :4",
	} {
		words := strings.Split(line, " ")
		words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], "~", " ")
		var out, talk bytes.Buffer
		status := run(append([]string{"__completeNoDesc"}, words...), strings.NewReader(""), &out, &talk)
		got := strings.Fields(strings.ReplaceAll(out.String(), " ", "~"))
		if status != exitOK || strings.Join(got, " ") != want {
			t.Errorf("%s<TAB>: exit status %d, %q, want %q", line, status, got, want)
		}
	}
}
