// Package tail measures how soon TCPs retransmit the lost last segment of a response: this module's
// under any timer policy, gVisor's, and Linux's, over the same path. It serves the command tcpwheel
// tail and the study tailmap.
//
// # The experiment
//
// On each of Config.Count connections a client requests responses of Config.Segments segments, with
// pauses, so that the sender learns the RTT. Of one response, the last segment is lost once. Only
// the sender's timers can repair that. Everything is measured on the path, between sender and
// receiver: the time of each transmission and of each arrival. The client acknowledges at once, so
// that its ACKs add nothing; with Config.DelayAcks it delays the ACKs of that response.
//
// A control run loses nothing. After the first responses, its client delays the ACK of a lone
// segment as Linux does, by 40 ms, and the delay is measured on the path. Every retransmission in
// it is spurious.
//
// # Real and virtual time
//
// In real time the hosts are a netns.Pair. The client is the kernel's TCP in a network namespace.
// The stacks are behind a TUN device with an emulated link, and Linux's sender is in a second
// namespace behind the same link. All senders use CUBIC, if the kernel has it. It needs root.
//
// In virtual time there is no Linux. The client is this module's TCP with the same delayed ACKs,
// from its first response on if at all. The same Config gives the same Results.
//
// # The lower bound
//
// The ACK of a lone segment, delayed by 40 ms, arrives up to RTT + 40 ms after the segment. A
// sender that retransmits earlier may do so spuriously; on a path of 10 ms that bound is five round
// trips. The last of several segments can be retransmitted after three, if their ACKs show that the
// client does not delay its own: see tcp.AckPace.
package tail
