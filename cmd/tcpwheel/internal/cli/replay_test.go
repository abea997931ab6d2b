package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// publicCaptures is the folder of public captures, which may be absent.
const publicCaptures = "../../../../../shared/captures"

// replayOf is the exit status and some words that replay must give for some of them. The others
// must be compared or refused.
var replayOf = map[string]struct {
	status int
	words  string
}{
	"ndt-client-upload-clean.pcap":    {exitOK, "there is no loss in it: nothing to compare"},
	"ndt-ipv6-zero-window.pcap.gz":    {exitOK, "there is no loss in it: nothing to compare"},
	"docker-http-keepalive.pcap":      {exitOK, "there is no loss in it: nothing to compare"},
	"ssh-duplicated-frames.pcap":      {exitOK, "there is no loss in it: nothing to compare"},
	"http-range-null-loopback.pcap":   {exitOK, "there is no loss in it: nothing to compare"},
	"pptp-big-endian.pcap":            {exitOK, "there is no loss in it: nothing to compare"},
	"redis-linux-sll.pcap":            {exitOK, "there is no loss in it: nothing to compare"},
	"tls-linux-sll2.pcap":             {exitOK, "there is no loss in it: nothing to compare"},
	"cut-short-ipv6.pcap":             {exitCut, "the file is cut short"},
	"fuzz-crash-cut-short.pcap":       {exitCut, "the file is cut short"},
	"smb-vlan.pcap":                   {exitFailed, "because the clock of the capture is too coarse"},
	"tls-3-interfaces.pcapng":         {exitFailed, "because the clock of the capture is too coarse"},
	"http-206-sender-loss.pcap":       {exitOK, "2 connections, 2 with losses, 2 replayed"},
	"tls-browsing-ipv6-spurious.pcap": {exitOK, "No loss was both needed and repaired. Of the loss episodes ("},
	"tls-sgt-rto-backoff.pcap":        {exitOK, "There is nothing to compare."},
}

// TestReplayOfPublicCaptures wants a sensible answer in every format for each public capture,
// within 80 columns.
func TestReplayOfPublicCaptures(t *testing.T) {
	entries, err := os.ReadDir(publicCaptures)
	if err != nil {
		t.Skipf("the public captures are not here: %v", err)
	}
	dir := t.TempDir()
	seen := 0
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".pcap") {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			want, known := replayOf[e.Name()]
			if known {
				seen++
			}
			if info, err := e.Info(); err == nil && info.Size() > 1<<20 && testing.Short() {
				t.Skip("large")
			}
			file, page := filepath.Join(publicCaptures, e.Name()), filepath.Join(dir, "page.html")
			replay := func(args ...string) (status int, out, talk string) {
				var stdout, stderr bytes.Buffer
				status = run(append([]string{"replay", "--policy", "linux,per-segment@1ms"}, append(args, file)...), strings.NewReader(""), &stdout, &stderr)
				return status, stdout.String(), stderr.String()
			}
			status, out, talk := replay("--html", page)
			if known {
				if status != want.status || !strings.Contains(out+talk, want.words) {
					t.Errorf("status %d, want %d and %q:\n%s%s", status, want.status, want.words, out, talk)
				}
			} else if status != exitOK && status != exitViolation && status != exitCut {
				t.Errorf("status %d: %s%s", status, out, talk)
			}
			for line := range strings.SplitSeq(out, "\n") {
				if utf8.RuneCountInString(line) > terminalColumns && !strings.Contains(line, file) {
					t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
				}
			}
			if text, err := os.ReadFile(page); err != nil || !bytes.HasSuffix(text, []byte("</html>\n")) {
				t.Errorf("the page is not whole: %v", err)
			}
			if again, out, _ := replay("--json"); again != status {
				t.Errorf("status %d with --json, %d without", again, status)
			} else {
				for line := range strings.Lines(out) {
					if !json.Valid([]byte(line)) {
						t.Errorf("no JSON: %s", line)
					}
				}
			}
			if again, out, talk := replay("--wire"); again != exitFailed && again != exitOK && again != exitCut {
				t.Errorf("--wire: status %d: %s%s", again, out, talk)
			}
		})
	}
	if seen < len(replayOf) {
		t.Errorf("%d of the captures that are known are here, want %d", seen, len(replayOf))
	}
}
