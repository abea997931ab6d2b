package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tcpwheel/netstack/sim"
)

// TestNamesOfFiles gives captures names that a terminal would obey, with a line of their own. They
// are shown escaped; JSON has the name itself.
func TestNamesOfFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file names have no control characters here")
	}
	losses, err := sim.ParseLosses("packets:20,60-62")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := captured(losses)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const odd, shown = "\x1b]0;owned\x07\ntcpwheel: error: ", `\x1b]0;owned\a\ntcpwheel: error: `
	file := func(name string, content []byte) string {
		name = filepath.Join(dir, odd+name)
		if content != nil {
			if err := os.WriteFile(name, content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	good, cut, other, none := file("good", whole), file("cut", whole[:len(whole)/2+1]), file("other", []byte("no capture")), file("none", nil)
	for _, args := range [][]string{
		{"analyze", good}, {"analyze", good, cut, other, none},
		{"analyze", none}, {"analyze", other}, {"analyze", dir + "/*\a"},
		{"analyze", "--annotate", filepath.Join(none, "x"), good}, {"analyze", "--annotate", good, good},
		{"replay", good, cut}, {"replay", good, none}, {"replay", other},
	} {
		var out, talk bytes.Buffer
		run(args, strings.NewReader(""), &out, &talk)
		both := out.String() + talk.String()
		if strings.ContainsAny(both, "\x1b\a") || strings.Contains(both, "\ntcpwheel: error: good") || !strings.Contains(both, shown) && !strings.Contains(both, `*\a`) {
			t.Errorf("%q prints\n%q\n%q", args, out.String(), talk.String())
		}
	}
	var out, talk bytes.Buffer
	if exit := run([]string{"analyze", "--json", good}, nil, &out, &talk); exit != exitOK {
		t.Fatalf("exit %d, %s", exit, talk.String())
	}
	var r struct{ File string }
	if err := json.NewDecoder(&out).Decode(&r); err != nil || r.File != good {
		t.Errorf("file %q and %v, want %q", r.File, err, good)
	}
}
