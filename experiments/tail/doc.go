// Package tail measures how long TCPs take to notice that the last segment of a response was lost: this house's under any
// timer policy, gVisor's, and Linux's, side by side over the same path.
//
// # The experiment
//
// On each of Config.Count connections a client asks for responses of Config.Segments segments, one after another with pauses,
// so that the sender knows the round-trip time. Of one response the last segment is lost once. Its sender is told
// nothing, and what happens next is up to its timers. All is seen on the path, between sender and receiver: the
// instant of each transmission and each arrival. The client acknowledges at once here, so that nothing else is measured, but
// for that one response with Config.DelayAcks.
//
// In a control run nothing is lost, and after the first Warm responses the client puts off the ACK of a lone segment by
// the 40 ms of Linux's delayed ACK, which is also measured on the path. What is sent again there is sent in vain.
//
// # Real and virtual time
//
// In real time the client is the kernel's TCP in a network namespace, the stacks of this house and of gVisor are behind a TUN
// device with an emulated link (tun.Impair), and Linux's sender is in a second namespace, behind another device and the
// same link (tun.Join). Nothing is offloaded, so that segments are packets. TCP metrics of earlier connections are not
// kept, and Linux's congestion control is CUBIC where there is one, as is that of the others. It needs root.
//
// In virtual time there is no Linux, and the client is this house's TCP with the same delayed ACKs, which it puts off from the
// beginning where it does at all. The same Config gives the same Results.
//
// # What can be had
//
// A lone segment whose ACK may be put off by 40 ms is acknowledged up to RTT + 40 ms after it was sent. A sender that
// is not to be in vain cannot send it again before, which is five round trips on a path of 10 ms. The last of several can be had
// in three where their ACKs tell that its own is not put off: see tcp.AckPace.
package tail
