package main

import (
	"os"
	"runtime"
	"runtime/debug"
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
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
