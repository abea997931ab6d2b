// Package wheelbench measures what the operations of timer facilities cost. It measures the Go
// runtime's timers in the same run.
//
// # Usage
//
//	for r, err := range wheelbench.Run(ctx, wheelbench.Options{N: []int{1e6}}) {
//		...
//	}
//
// The command is tcpwheel wheel bench. A workload is a file of its own and a line in workloads.
//
// # Workloads
//
// Intervals are uniform from 1 to 10,000 ticks. Their generator is inline, costs about a nanosecond
// and is the same for every scheme.
//
//	start-stop  START and STOP of one timer while n others run. 64 such timers take turns.
//	rearm       START of a random one of n running timers, with a new interval.
//	expire      START of n timers, then Advance tick by tick until all have expired; per timer.
//	ratas       The mix of the Ratas benchmark: n/10 pairs of units with ten timers each. An
//	            operation is one expiry with the three or so STARTs that follow it. Its tick is
//	            20 µs. BenchmarkRatas is the whole run.
//
// No time passes in start-stop and rearm. That favours a scheme that re-arms lazily: each record
// comes to lie at the earliest tick it was ever started for, and later STARTs only write the
// record.
//
// # The runtime's timers
//
// The scheme "runtime" is package time, called directly: time.AfterFunc and Timer.Stop for
// start-stop, Timer.Reset for rearm. Their deadlines are an hour or more away, so
// that none expires during the run. They cannot expire in virtual time. Under expire, n calls of
// time.AfterFunc take random intervals of 1 to 10,000 µs, and each function runs on a goroutine,
// as the runtime does it. From 10^5 timers on that keeps the processor busy; with fewer, the
// clock would be measured, so those cells are skipped.
//
// # Figures of Run
//
// The time per operation is the median of several rounds, each on a new facility. The rounds of all
// schemes are interleaved, so that other load on the machine affects all of them. Believe ratios
// rather than the figures of one run. Bytes per timer are the growth of the heap, slots included,
// with n timers in place. The collector's work is how much longer a collection takes with them.
// Operations are counted in a separate run on a facility that counts; counts are exact and the same
// on every machine.
//
// # Limitations
//
// The budget bounds what a cell of Run may cost. A scheme whose START walks all timers would need
// hours to start 10^6 of them; such a cell is reported as skipped, with the reason. Nothing else
// should run on the machine. A loaded machine shows its scheduler and not its timers: repeat on a
// quiet one, and believe the medians rather than the maxima.
package wheelbench
