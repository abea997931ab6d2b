package cli

import (
	"bytes"
	"flag"
	"io"
	"path/filepath"
	"testing"
	"time"
)

var profiled = flag.String("captures", "", "folder with captures (*.pcap) for BenchmarkProfile")

// BenchmarkProfile is the work that the compiler's profile is taken from: what takes a packet, or a
// segment of the engine, through the program again and again. The compiler reads release.pgo
// when a release is built, so the profile is taken again when that work has changed:
//
//	go test ./pcaps/track -run BigCaptures -big DIR
//	cp echo-82k-packets.pcap DIR
//	go test ./cmd/tcpwheel/internal/cli -run '^$' -bench Profile -benchtime 1x -captures DIR \
//		-cpuprofile cmd/tcpwheel/release.pgo
func BenchmarkProfile(b *testing.B) {
	if *profiled == "" {
		b.Skip("it needs a folder with large captures: -captures")
	}
	captures, err := filepath.Glob(filepath.Join(*profiled, "*.pcap"))
	if err != nil || len(captures) == 0 {
		b.Fatalf("no captures in %s: %v", *profiled, err)
	}
	// Work is repeated for some time: captures for longer, so that the profile is mostly of them.
	repeat := func(seconds int, work func()) {
		for start := time.Now(); time.Since(start) < time.Duration(seconds)*time.Second; {
			work()
		}
	}
	call := func(args ...string) func() {
		return func() {
			var report bytes.Buffer
			if status := run(args, bytes.NewReader(nil), io.Discard, &report); status != exitOK {
				b.Fatalf("tcpwheel %v: status %d: %s", args, status, &report)
			}
		}
	}
	for b.Loop() {
		for _, capture := range captures {
			repeat(20, call("analyze", capture))
		}
		repeat(5, call("replay", "sample:burst/a.pcapng.gz"))
		for i, c := range countedFlows {
			repeat([]int{10, 5}[i], func() {
				for _, rexmit := range []string{"per-segment", "restart"} {
					c.run(b, rexmit, 200_000)
				}
			})
		}
	}
}
