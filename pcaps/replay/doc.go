// Package replay runs what a capture shows once more, in virtual time and with other retransmission
// timers, and tells what each loss would have cost.
//
// # Usage
//
//	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.Script, err error) { … }})
//	for … { rec.Add(&packet) }
//	rec.Close()
//	out, err := s.Run(replay.Options{Policy: policy, Key: replay.ByRange})
//
// # The script
//
// A Script is what a capture tells of one connection and what is kept as it was: the path, as the
// fate and delay of each transmission in both directions; and the ends, as what each application
// wrote when, or after what it had received, how much each end had in flight and when it
// acknowledged by how much had arrived, and what they agreed on in the handshake. It is data, in
// JSON too.
//
// When an application wrote can be seen only as far as its octets were sent: the instant is an
// upper bound. Octets that leave as an ACK arrives which made room for them belong to the write
// before. An application that was silent until octets came from the other side waits for them in
// the replay too, and then as long as it did. What the capture saw at one point is taken to both
// ends by half of the least round trip from there; where the way of a packet can be seen by its
// ACK, all that varies is laid on the way of data.
//
// # The run
//
// Both ends are engines under the policy in question. They acknowledge at once, and their ACKs are
// held back up to when the captured end had got as much and sent one. The path between decides the
// fate of each packet by one of three keys; the truth lies between them.
//
// Congestion windows are those of the capture, so that what differs is due to timers: when so many
// octets are known to have arrived, so many more may be in flight as were. Where the capture does
// not tell, as the application had no more to write, and for retransmissions, it is a control's to
// say that is one for all policies. A timer that saves a timeout therefore gains no larger window
// by it: what it would save beside is not counted.
//
// Each loss happens to ends that are as the capture has them: both hear what they heard in it,
// whatever they send, until what is lost is about to leave. Then they are let go, and hear each
// other; what left before still arrives. So no error of one loss is handed on to the next, and the
// fates that a policy asked for before do not make those unknown that come after. Until then an end
// counts as sent again what the captured one sent again, lest a repair that its own timers would
// have made later be a round trip to it. Losses that happen before the first of them shows share a
// run, and more neighbours where the runs would hear more than a million packets. What is counted
// over all, as retransmissions, and the share of fates that are filled in, is of one run from end
// to end; and so are recoveries with Options.Drift, and where ends cannot follow a capture.
//
// What Linux's timers round to depends on when the ticks of the captured host were. Those
// retransmissions tell that no packet caused.
//
// # Limitations
//
// Fates that the capture does not tell are filled in, and counted: see Outcome.Imputed. A tail that
// was lost before it came to the point of capture shows no loss. Receivers' windows are constant,
// but that what was not sent for want of one waits for as much to arrive. Retransmissions in place
// of others make no difference to the path: a queue that the sender filled itself stays as it was.
//
// # Concurrency
//
// A Script may be run by several goroutines at once, as nothing changes it. A Recorder is not safe
// for concurrent use.
package replay
