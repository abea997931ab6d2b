// Package lateness measures how late timers expire on this machine: those of wheel.Realtime, and those of the Go
// runtime beside them in the same run.
//
// # What is measured
//
// One timer at a time, on a process that does nothing else; that is when the runtime is latest, as its idle processors
// sleep in whole milliseconds. The sources take turns, so that whatever else goes on in the machine meets all alike. To
// each interval a random part of a tick is added, so that deadlines fall anywhere between two ticks.
//
// Lateness is told in two ways. After the deadline is what a caller sees; of that, rounding up to the tick takes up to
// a tick, evenly spread, which is the tick's doing and was asked for. After the tick is what the machine adds: the
// precision of the driver. A timer of the runtime has no tick, and so only the first.
//
// The instant of expiry is read as the first thing in the timer's function.
//
// # Limitations
//
// A loaded machine shows its scheduler, not its timers: repeat on a quiet one, and believe the medians sooner than the
// maxima.
package lateness
