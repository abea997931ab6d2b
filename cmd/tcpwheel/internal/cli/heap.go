package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// firstCollection delays the first garbage collection to 8 times its usual 4 MB.
const firstCollection = 800

// collectLate delays the first garbage collection to 32 MB, which most runs never reach. Later ones
// occur when memory has doubled, as usual. GOGC takes precedence.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	runtime.AddCleanup(new([16]byte), func(percent int) {
		if !often.Load() {
			debug.SetGCPercent(percent)
		}
	}, usual)
}

// collectRarely lets memory grow by up to 512 MB between two collections, though to no more than 18
// times what is in use, and beyond 1 GB to twice. The state of connections is hardly ever garbage,
// and marking it took a fifth of the CPU for 100,000 of them. GOGC takes precedence.
func collectRarely() {
	if os.Getenv("GOGC") != "" {
		return
	}
	runtime.AddCleanup(new([16]byte), func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(rarely(live[0].Value.Uint64()))
		collectRarely()
	}, struct{}{})
}

// rarely returns by how many percent memory may grow when that many bytes are in use.
func rarely(live uint64) int {
	const room = 512 << 20
	return int(min(max(100*room/max(live, 1), 100), 1700))
}

// often says that collectOften has been called.
var often atomic.Bool

// collectOften lets memory grow by 30 % between two collections. Scripts of replays are large and
// have few pointers to follow: it costs 4 % of the CPU, and saves a tenth of the memory, compared
// with 50 %. GOGC takes precedence.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		often.Store(true)
		debug.SetGCPercent(30)
	}
}
