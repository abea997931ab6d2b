//go:build !unix

package cli

import "time"

var started = time.Now()

// cpuTime returns wall-clock time on systems without a simple call for CPU time.
func cpuTime() time.Duration { return time.Since(started) }
