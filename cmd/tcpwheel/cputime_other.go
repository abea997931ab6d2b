//go:build !unix

package main

import "time"

var started = time.Now()

// cpuTime stands in for CPU time where the system does not tell it simply: it is the time of day.
func cpuTime() time.Duration { return time.Since(started) }
