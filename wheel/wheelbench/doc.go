// Package wheelbench measures timer facilities: the schemes of package wheel, and beside them the Go runtime's timers,
// all under the same workloads, in the same run, on the same machine.
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
// Intervals are drawn evenly from 1 to 10,000 ticks by a generator that costs about a nanosecond, inline and the same
// for every scheme.
//
//	start-stop  Beside n timers that run, START and STOP of one that does not. 64 such timers take turns.
//	rearm       START of one of n timers that run, picked at random, with a new interval.
//	expire      START of n timers, then Advance tick by tick until all have expired; per timer.
//	keepalive   One tick of a host with n connections, each with a keepalive timer of two hours that every packet puts
//	            off: at 30,000 packets a second, Schedule for each packet of the tick, and Advance.
//
//	ratas       The mix of the benchmark of Ratas: n/10 pairs of units with ten timers, of which some are put off all
//	            the time, and some set and expired. An operation is one expiry with the three STARTs or so that it
//	            leads to. Its tick is 20 µs. RunRatas is the whole run, as the C++ original has it.
//
// No time passes in start-stop and rearm. That is kind to a scheme that re-arms lazily: a record comes to stand at the
// earliest tick it was ever started for, and later STARTs only write the record. In keepalive time does pass, and all
// that was left behind has to be looked at again.
//
// # The runtime's timers
//
// The scheme "runtime" is package time itself, called directly: time.AfterFunc and Timer.Stop for start-stop,
// Timer.Reset for rearm and keepalive, with deadlines an hour or more away so that none expires meanwhile. They cannot
// expire in virtual time. Under expire, n calls of time.AfterFunc take random intervals of 1 to 10,000 µs and each
// function runs on a goroutine, as the runtime has it; from 10^5 timers on the processor is busy all the while, and
// with fewer it would be the clock that is measured, so those cells are skipped. Under keepalive there is no tick to pay
// for, because the runtime has no tick.
//
// # Figures
//
// The time per operation is the median of several rounds, each on a facility that was made anew; the rounds of all
// schemes are interleaved, so that what else the machine does meets all of them. Believe ratios, rather than figures of
// one run. Bytes per timer are what the heap has grown by, slots included, when n timers are in place, and the
// collector's work is how much longer a collection takes with them. Operations are counted in a run of their own on a
// facility that counts, which the timed ones do not; counts are exact, and the same on every machine.
//
// # Limitations
//
// The budget bounds what a cell may cost. A scheme whose START walks all timers would need hours to have 10^6 of them
// in place; such a cell is reported as skipped, with the reason. Nothing else should run on the machine meanwhile.
package wheelbench
