package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// kernel times one flow to and from the kernel over TUN by the benchmark of tun/up, which needs
// root and Linux. Its limits have no TCP of ours: a writer of ready super-segments, a reader that
// drops them.
func kernel(ctx context.Context, quick bool) (all result, err error) {
	if os.Geteuid() != 0 {
		all.notes = append(all.notes, "Not measured: to and from the kernel. They need root.")
		return all, nil
	}
	turns := "60x"
	if quick {
		turns = "15x"
	}
	out, err := exec.CommandContext(ctx, "go", "test", "./tun/up", "-run", "^$", "-bench", "TUNCompare", "-benchtime",
		turns).CombinedOutput()
	if err != nil {
		all.notes = append(all.notes, fmt.Sprintf("Not measured: to and from the kernel: %v\n%s", err, out))
		return all, nil
	}
	for _, of := range []struct{ dir, work, limit string }{
		{"to-kernel", "one flow to the kernel", "super-segments written without TCP"},
		{"from-kernel", "one flow from the kernel", "super-segments read and dropped"},
	} {
		for name, m := range benchmarks(out) {
			if name != fmt.Sprintf("BenchmarkTUNCompare/dir=%s", of.dir) && name != fmt.Sprintf("BenchmarkTUNCompare/dir=%s-%d",
				of.dir, runtime.GOMAXPROCS(0)) {
				continue
			}
			all.rows = append(all.rows, row{Work: of.work, Unit: "ns a KB", Ours: 1e6 / m["ours-least-MB/s"],
				Peer:     1e6 / m["gvisor-least-MB/s"],
				BestPeer: "gVisor", Limit: 1e6 / max(m["limit-MB/s"], 1e-9), LimitIs: of.limit})
		}
	}
	return all, nil
}
