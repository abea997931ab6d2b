// Package track follows the TCP connections of a capture and reports each loss: what was
// retransmitted, why, whether it was needed, and how long the repair took.
//
// # Usage
//
//	t := track.New(track.Config{Done: func(c *track.Conn) { … }})
//	for … { t.Add(&packet) }
//	t.Close()
//
// Add takes packets in capture order. Done gets each connection once, complete: when nothing more
// can follow, or at Close.
//
// # Clocks
//
// Every decision of a sender follows from what it knew at that time. A capture elsewhere sees data
// after it was sent and ACKs before they arrive. The lag of a direction is the round trip between
// the point of capture and the sender: the time from a captured ACK until its effect is captured.
// Where there are timestamps, the echoed value shows which ACKs the sender had. Durations are by
// the sender's clock in this sense. At the sender the lag is almost 0.
//
// # Losses
//
// An Episode begins with the first retransmission. It ends when everything in flight at that time
// is acknowledged. Its recovery time T_rec is measured on the first retransmitted bytes: T_rec = D
// + A + P, where
//
//   - D (detection) runs from their previous transmission to the first retransmission,
//   - A (attempts) runs from there to the retransmission that arrived,
//   - P (proof) runs from there to the acknowledgement.
//
// # Limitations
//
// A capture at the receiver shows no hole for a lost tail: its retransmission looks like a late
// first transmission. A capture of one direction has no ACKs, so retransmissions have no visible
// cause.
//
// # From file to line
//
// A retransmission of an Ethernet capture passes through twelve files, each from the function named;
// cli is cmd/tcpwheel/internal/cli. An ACK leaves this path in conn.go for track/ack.go and
// track/spurious.go, whose rules say what was needed, and is back in episode.go.
//
//	cli/readcapture.go, readCapture      takes packets one at a time
//	capture/reader.go, Next              counts records
//	capture/pcapfile.go, next            reads a record of pcap; pcapng has pcapng.go
//	capture/decoder.go, decode           finds the TCP segment; link.go, ip.go, layers.go the rare ones
//	track/tracker.go, Add                finds the connection
//	track/conn.go, handle                drops copies, delivers the ACKs that the sender had
//	track/send.go, sendData              finds its place in the stream
//	track/retransmission.go, oldRules    tells retransmissions from late originals and copies
//	track/explain.go, rules              names the cause
//	track/episode.go, Episode            has D, A, P and the time lost
//	cli/analyze_summary.go, episode      adds it up
//	cli/analyze_print.go, episodeLayout  prints the line
//
// # Concurrency
//
// A Tracker is not safe for concurrent use. Different captures may be followed at once.
package track
