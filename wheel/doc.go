// Package wheel has timer facilities: every scheme of George Varghese and Anthony Lauck, "Hashed
// and Hierarchical Timing Wheels" (SOSP 1987; IEEE/ACM Transactions on Networking 5(6), 1997),
// behind one interface, and the implementations that the paper compares them with.
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
// Programs that want timers on the machine's clock use Realtime, which has AfterFunc.
// Schemes lists the names that New accepts. "scheme6" is the default and the fastest.
//
// # Files
//
// Begin with facility.go, the interface, and scheme6_list.go, the paper's wheel at its plainest.
//
//	schemes.go                   the table of schemes
//	front.go, arena.go           the common part: the clock, the due timers, the records
//	ring.go, hashed.go           the slots of a wheel; the hashed wheels
//	scheme*.go                   the schemes of the paper
//	nichols.go, logicsim.go, calendar.go, callout*.go, runtime.go
//	                             variants, predecessors, and Go's own timers
//	scheme6*.go                  the default: Scheme 6 in the layout that was found fastest
//	time.go, bitmap.go, counts.go
//	                             instants and ticks; the busy slots; elementary operations
//	sharded.go                   several facilities, each with a lock
//	realtime*.go, alarm.go, lead.go, timerfd*.go
//	                             the only files that read a clock
//
// # Contract
//
// The methods of Facility say what each call does. All schemes keep the same contract.
// contract_test.go has a test for each sentence:
//
//   - START, STOP, re-arming and Advance allocate nothing, whatever the order of calls. Only New
//     and Reserve allocate. The scheme "runtime", Go's own timers, is the exception.
//   - Deadlines round up to a tick: a timer is late by less than a tick, and never early (RFC 6298
//     §5). The two schemes of Nichols round to coarser units, which Deadline reports.
//   - Earlier ticks expire first. Within a tick, the order depends only on the calls made. It is
//     START order in the heap, the tree and all schemes with linked lists, unless the type's
//     comment says otherwise. It is not START order in a lazy mode, where an extended timer counts
//     as started when its place comes up. Nor is it in scheme7-lazy, and in scheme6 and
//     scheme6-eager for a slot from which a timer was stopped.
//   - A deadline that has passed expires in the next Advance, never inside Schedule.
//   - Schedule on a running timer moves it. Stop reports whether the timer was running. After Stop
//     the timer does not expire, even if it was due.
//   - The expiry function may start, stop, make and free any timer, the expiring one included. A
//     timer that it starts with a passed deadline waits for the next Advance, so that every Advance
//     ends.
//   - A clock that steps back counts as no time passing.
//   - Advance over a gap of any length visits every due timer, in order.
//   - Ticks do not overflow within 292 years of the origin, even if a tick is a nanosecond. Later
//     deadlines count as 292 years.
//
// # Cost
//
// START, STOP and tick in the terms of Table II, with n running timers, M slots, m levels:
//
//	scheme1                O(1)       O(1)          O(n)
//	scheme2                O(n)       O(1)          O(1)
//	scheme3                O(log n)   O(log n)      O(1)
//	scheme3-tree           O(log n)   O(1)          O(1)      START is O(n) if intervals are equal
//	scheme4                O(1)       O(1)          O(1)      beyond M ticks, as scheme2
//	scheme5                O(1)       O(1)          O(1)      on average for n < M; O(n) at worst
//	scheme6                O(1)       O(1)          n/M       on average; O(n) at worst
//	scheme7, scheme7-lazy  O(m)       O(1)          O(1)      on average
//
// A tick without a busy slot costs nothing in a wheel. A bitmap of the busy slots, the paper's
// scanning chip (Appendix A) in software, finds the next one in a few instructions, over any gap.
// Counts are the elementary operations of a facility, for comparing schemes.
//
// # Time
//
// No scheme but "runtime" reads a clock: now is an argument, an instant in nanoseconds since an
// epoch that the caller picks. Config.Tick is the granularity of expiry and of nothing else; the
// package never rounds a measured time to it. Realtime supplies now from the machine's clock.
//
// # Concurrency
//
// An Of has its records inside the values that they time, as fields, and no handles. It keeps the
// same contract, in the layout of scheme7-lazy.
//
// A Facility is not safe for concurrent use. Sharded is one facility per shard, each behind a lock
// (Appendix B). Multiple goroutines may invoke methods on a Realtime.
//
// # Limitations
//
// A facility holds at most 2^28 timers. Its arena grows by copying and never shrinks; Reserve
// avoids the copies. There are no periodic timers: an expiry function starts its timer again.
package wheel
