// Package track follows the TCP connections of a capture and tells, loss by loss, what was sent again, why, whether it was needed, and
// how long the repair took.
//
// # Usage
//
//	t := track.New(track.Config{Done: func(c *track.Conn) { … }})
//	for … { t.Add(&packet) }
//	t.Close()
//
// Packets come in the order of the capture. A Conn is complete when Done gets it: once nothing more is expected of it, and at Close.
//
// # Whose clock
//
// What a sender did follows from what it knew, and when. A capture elsewhere sees octets later than they were sent, and ACKs before they
// arrive. So each direction has a lag: how long an ACK that is seen takes until what its arrival causes can be seen, the
// round trip between the point of capture and the sender. Where there are timestamps, their echo shows which ACKs the sender had. All
// spans are of the sender's clock in this sense; at the sender the lag is next to nothing.
//
// # Losses
//
// An Episode begins with the first retransmission and ends when all is acknowledged that was in flight at that instant. It is measured
// by the octets that were retransmitted first: D from their transmission before to the first retransmission, A from there to the one
// that arrived, P from there to their acknowledgement, T_rec from the first to the last.
//
// # Limitations
//
// At a receiver a lost tail leaves no hole: its retransmission looks like the first transmission, late. A capture of one
// direction only has no ACKs, and retransmissions are seen without a cause.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
package track
