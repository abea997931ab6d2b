// Package wheels is the studies of the wheel itself: what START, STOP and a tick cost under each
// scheme, how late timers expire, and how they share locks.
//
// Each study has a folder with its README.md and plan.yaml. Counts are exact. The live parts, named
// clock, time the same work on the machine at hand.
package wheels

import "embed"

//go:embed */README.md */plan.yaml locks/processors.csv
var files embed.FS
