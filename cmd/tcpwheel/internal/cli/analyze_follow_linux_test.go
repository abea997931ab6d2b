package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFollowTcpdump follows a tcpdump at the sender of a lossy link between two kernels, as root:
// the recoveries are those of analyze, of what tcpdump wrote.
func TestFollowTcpdump(t *testing.T) {
	need(t, "tcpdump")
	args := linkArgs(t, "--delay", "15ms", "--rate", "20e6", "--queue", "200", "--a-to-b", "loss=0.05", "--seed", "7")
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "all.pcap")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	helper := fmt.Sprintf("exec %s -test.run '^TestTrafficHelper$'", os.Args[0])
	args = append(args, "--b-run", trafficRole+"=sink "+helper, "--", "/bin/sh", "-c",
		fmt.Sprintf("tcpdump -i any -w - tcp >%s & sleep 1; (%s=source %s); sleep 1; kill -INT $!; wait", pipe, trafficRole, helper))
	var followed, linked, talk, linkTalk bytes.Buffer
	status := make(chan int, 1)
	go func() {
		in, err := os.Open(pipe)
		if err != nil {
			t.Error(err)
		}
		defer in.Close()
		all, err := os.Create(file)
		if err != nil {
			t.Error(err)
		}
		defer all.Close()
		status <- run([]string{"analyze", "--follow", "--json", "-"}, io.TeeReader(in, all), &followed, &talk)
	}()
	if s := run(args, strings.NewReader(""), &linked, &linkTalk); s != exitOK {
		t.Fatalf("link: status %d: %s%s", s, &linked, &linkTalk)
	}
	if s := <-status; s != exitOK {
		t.Fatalf("status %d: %s", s, &talk)
	}
	var analyzed bytes.Buffer
	if s := run([]string{"analyze", "--json", file}, nil, &analyzed, &talk); s != exitOK {
		t.Fatalf("status %d: %s", s, &talk)
	}
	got, _ := recordsOf(t, followed.String())
	want, _ := recordsOf(t, analyzed.String())
	changed := 0
	for packet, e := range want {
		g := got[packet]
		if g == nil || g["src"] != e["src"] || g["t_rec_s"] != e["t_rec_s"] || g["d_s"] != e["d_s"] {
			t.Errorf("packet %v: followed %v, want %v", packet, g, e)
		} else if g["kind"] != e["kind"] || g["spurious"] != e["spurious"] {
			changed++ // evidence that came later
		}
	}
	if len(got) != len(want) || len(want) < 10 || 20*changed > len(want)+19 {
		t.Errorf("%d recoveries followed, %d analyzed, the kind or verdict of %d differs\n%s", len(got), len(want), changed, &linkTalk)
	}
}
