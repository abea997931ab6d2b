// Package replay runs the connections of a capture again, in virtual time and with other
// retransmission timers, and reports what each loss would have cost.
//
// # Usage
//
//	done := func(c *track.Conn, s *replay.CapturedConn, err error) { … }
//	rec := replay.NewRecorder(replay.Config{Done: done})
//	for … { rec.Add(&packet) }
//	rec.Close()
//	r, err := (&replay.Study{Choices: choices}).Run(file, c, s)
//
// # The captured connection
//
// A CapturedConn is what a capture shows of one connection: the fate and delay of every
// transmission; what each application wrote, and when; and when each end acknowledged. A write is
// seen only when its bytes leave, so its time is an upper bound. Times at the point of capture are
// moved to the ends by half of the least round trip from there.
//
// # The replay
//
// Both ends are engines. They do what they did in the capture until a lost transmission has left.
// Then they are released, and a decider says when to retransmit. The control uses the captured
// times; a policy uses its timers. Packets that left before still arrive as captured. One follower
// serves all policies that measure round trips alike.
//
// The path between the ends decides the fate of each packet by one of three keys; the truth lies
// between them. Congestion windows and ACKs are those of the capture, so only timers differ.
//
// # The gate
//
// A loss counts only where the control repairs it in the captured time, within 10 % or 2 ms, and
// where its repair moves with its retransmissions. A policy saves the control's recovery time less
// its own. Summary has the verdict, or the reason why none is possible.
//
// # Limitations
//
// A tail that was lost before the point of capture shows no loss. Receivers' windows are constant.
// A queue that the sender filled stays as it was. What a policy would gain from a larger congestion
// window is not counted.
//
// # Concurrency
//
// A CapturedConn may be used by several goroutines at once. A Recorder is not safe for concurrent
// use.
package replay
