package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstCollection is how much memory the first garbage collection comes with, in percent of the 4 MB with which it would come by itself.
const firstCollection = 800

// collectLate lets the first garbage collection come with 32 MB, which most runs never have; from then on they come when memory has
// doubled, as usual. What the environment says in GOGC counts instead.
func collectLate() {
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(firstCollection)
	runtime.AddCleanup(new([16]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
