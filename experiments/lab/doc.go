// Package lab is what studies of TCP set up alike: timers by their text, losses that all policies have in common, pairs and
// stars of hosts, stacks with gVisor's own TCP, and a record of what was sent again.
//
// # Timers
//
// Timers are a policy with what a study changes of it, as text, so that plans, cells and tables name them alike:
//
//	POLICY[@TICK] [KEY=VALUE]... [+SWITCH|-SWITCH]...
//
// as in "linux", "rfc6298@10ms floor=1s -tlp -rack" or "per-segment@500ms". POLICY is a name of package tcptimers. TICK is the tick
// of expiry, or "exact", which is a microsecond. Keys are rtt-tick, floor, phase (shared, own, countdown, jiffies), rexmit (per-segment,
// restart, rto-restart), delack (a duration, or off), var-min, jitter, control. Switches are those of tcptimers.Switches and sack, timestamps,
// vegas-check, pacing, reno. The four knobs of granularity stay apart: @TICK is the tick of expiry and nothing else.
//
// # Common random numbers
//
// A Fates loses a packet by a hash of the seed, the flow, where its octets begin and which transmission it is. Two policies
// that send the same octets for the same time meet the same fate, whatever else they have sent before.
package lab
