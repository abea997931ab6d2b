// Package wheels is the studies of the wheel itself: what START, STOP and a tick cost under each
// scheme, how late timers expire, and how they share locks.
//
// Each study has a folder with its README.md and plan.yaml. Counts are exact, and
// nothing is timed: package wheel has benchmarks.
package wheels

import "embed"

//go:embed */README.md */plan.yaml
var files embed.FS
