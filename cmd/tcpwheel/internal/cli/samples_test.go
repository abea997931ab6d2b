package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"tcpwheel/pcaps/samples"
)

// TestSamplesAreGolden compares the output of analyze for each sample with the golden file next to
// it. -update rewrites it.
func TestSamplesAreGolden(t *testing.T) {
	const dir = "../../../../pcaps/samples"
	for _, s := range samples.List() {
		var out, talk bytes.Buffer
		for _, name := range s.Captures {
			in, err := samples.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString("== " + name + "\n")
			if status := run([]string{"analyze", "--all", "-"}, in, &out, &talk); status != exitOK {
				t.Fatalf("%s: status %d, %s", name, status, &talk)
			}
			in.Close()
		}
		golden := filepath.Join(dir, s.Name, "analyze.golden")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("%s: analyze says\n%s\nand not what is in %s", s.Name, &out, golden)
		}
	}
}
