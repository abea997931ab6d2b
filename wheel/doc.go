// Package wheel is the timer facility of George Varghese and Anthony Lauck, "Hashed and Hierarchical Timing Wheels"
// (SOSP 1987; IEEE/ACM Transactions on Networking 5(6), 1997): every scheme of the paper behind one interface, and the
// implementations that it is compared with there.
//
// # Usage
//
//	w := wheel.MustNew(wheel.Default, wheel.Config{Tick: time.Millisecond})
//	t := w.New(owner)                        // a record, once
//	w.Schedule(t, now.Add(rto))              // START_TIMER
//	w.Stop(t)                                // STOP_TIMER
//	w.Advance(now, 0, func(t wheel.Timer) {  // PER_TICK_BOOKKEEPING and EXPIRY_PROCESSING
//		handle(w.Owner(t))
//	})
//	at, ok := w.NextExpiry(limit)            // how long to sleep
//
// Programs that just want timers served by the machine's clock use Realtime, which has AfterFunc.
// Schemes lists the names that New knows; "scheme6" is the default and the fastest.
//
// # Files
//
// Begin with facility.go, the interface, and scheme6.go, the paper's wheel at its plainest.
//
//	front.go, arena.go           what the schemes have in common: the clock, what is due, the records
//	scheme*.go, heap.go, tree.go the paper's schemes, of which heap.go and tree.go are the third; ring.go: the slots of hashed wheels
//	nichols.go, logicsim.go, calendar.go, callout*.go, runtime.go
//	                             variants, what came before, and Go's own timers
//	packed*.go, chunks.go        scheme6 as it is used by default: the same wheel in the layout that was found fastest
//	time.go, bitmap.go, counts.go
//	                             instants and ticks; the busy slots; elementary operations
//	sharded.go                   several facilities with a lock each
//	realtime*.go, alarm.go, lead.go, timerfd*.go
//	                             the only files that know a clock
//
// # Contract
//
// Facility's methods say what each call does. All schemes keep the same contract, each sentence of which is a test in
// contract_test.go:
//
//   - START, STOP and re-arming allocate nothing, whatever the order of calls, and neither does Advance. Only New and
//     Reserve do. ("runtime", Go's own timers, is the exception.)
//   - Deadlines round up to a tick: a timer is late by less than a tick, and never early (RFC 6298 §5). The two schemes of
//     Nichols round to coarser units, and Deadline tells to what.
//   - Earlier ticks expire first. Within a tick the order depends on the calls made and on nothing else. It is START order
//     in all schemes with linked lists, in the heap and in the tree, unless the type's comment says otherwise. It is not
//     in a lazy mode, where a timer that was put off counts as started when its place came up, nor in scheme6 and
//     scheme6-eager for a slot from which timers were stopped.
//   - A deadline that has passed expires in the next Advance, never inside Schedule.
//   - Schedule on a running timer moves it. Stop tells whether the timer was running, and after it the timer does not
//     expire, even if it was due.
//   - The expiry function may start, stop, make and free any timers, the expiring one included. What it starts with a
//     deadline that has passed waits for the next Advance, so that no Advance goes on for ever.
//   - A clock that steps back is no time passing.
//   - Advance over a gap of any length visits every timer that is due, in order.
//   - Ticks do not overflow within 292 years of the origin, also where a tick is a nanosecond. Later deadlines count
//     as 292 years.
//
// # Cost
//
// START, STOP and tick in the terms of Table II, n timers running, M slots, m levels:
//
//	scheme1                O(1)       O(1)          O(n)
//	scheme2                O(n)       O(1)          O(1)
//	scheme3                O(log n)   O(log n)      O(1)
//	scheme3-tree           O(log n)   O(1)          O(1)      O(n) to start timers of equal intervals
//	scheme4                O(1)       O(1)          O(1)      intervals up to M ticks; else as scheme2
//	scheme5                O(1)       O(1)          O(1)      on average for n < M; O(n) at worst
//	scheme6                O(1)       O(1)          n/M       on average; O(n) at worst
//	scheme7                O(m)       O(1)          O(1)      on average
//
// A tick without a busy slot costs nothing in a wheel: a bitmap of the busy slots, the paper's scanning chip
// (Appendix A) in software, has the next one a few instructions away, over any gap. Counts are the elementary
// operations of a facility, for those who compare schemes.
//
// # Time
//
// Nothing here reads a clock, Realtime and the scheme "runtime" apart: now is an argument, an instant in nanoseconds since
// an epoch that the caller picks. Config.Tick is the granularity at which timers expire and nothing else; measured
// times are never rounded to it.
//
// # Concurrency
//
// A Facility is not safe for concurrent use. Sharded is one facility per shard, each behind a lock (Appendix B);
// Realtime may be used by any number of goroutines.
//
// # Limitations
//
// A facility holds up to 2^28 timers. Its arena grows by copying, and never shrinks; Reserve avoids the copies. There
// are no periodic timers: an expiry function starts its timer again.
package wheel
