// Package tcp is the TCP engine: RFC 9293 with a retransmission timer for every segment in flight,
// without a goroutine, lock, clock, I/O or payload byte.
//
// It knows sequence ranges and not payloads, so that one engine serves a simulator, a replayer and
// a real stack: what arrives gets a Disposition, and what is to be sent is named by its place in
// the stream.
//
// # Usage
//
// A Conn is one connection, whose calls leave their results in an Output that its owner carries
// out. An Engine is a host: it owns connections, listeners, the wheel with all their timers, and
// counters.
//
//	e, err := tcp.NewEngine(now, tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Key: key})
//	s, err := e.Dial(now, local, remote, nil)
//	e.Wrote(now, s, 1000, 0)
//	s, verdict := e.Input(now, &packet)
//	e.Advance(now)                       // at NextTimeout at the latest
//
//	for _, p := range e.Packets() { … }  // after each of these: send,
//	for _, n := range e.Notices() { … }  // tell the application,
//	e.Reset()                            // and forget
//
// # Files
//
// Begin with conn.go, which has the state of a connection, then conn_input.go for what a segment
// does and conn_send.go for what leaves after it.
//
//	conn_open.go, conn_close.go  the handshake; FIN, RST and TIME-WAIT
//	conn_input.go, conn_admit.go
//	                             SEGMENT ARRIVES; what of it is refused or challenged
//	conn_ack.go, conn_sack.go, conn_rtt.go
//	                             the acknowledgement: cumulative, selective, and the round trip that it measures
//	conn_recovery.go, conn_undo.go
//	                             the response to losses; taking back what was spurious
//	conn_recv.go                 text that arrives, and when it is acknowledged
//	conn_send.go, conn_train.go  new data, the windows, Nagle; full segments in a row
//	conn_rexmit.go, conn_segment.go
//	                             what is sent again; the segment as it leaves
//	conn_timers.go, conn_timeout.go, conn_probe.go
//	                             starting, stopping and expiry; the retransmission timeout; loss probes and window probes
//	conn_icmp.go, conn_reconfig.go, conn_info.go, conn_check.go
//	                             ICMP; another configuration; TCP_INFO; the invariants
//	flight.go                    what a connection keeps only while something is in flight
//	sent*.go, segment_sent.go    the sender's book; rack.go, tlp.go find losses by it; loss6675.go, dupack.go: without RACK
//	ackpace.go                   what ACKs show of when the peer sends them, for the probe of tlp.go
//	reassembly.go, sackgen.go    the receiver's book; delack.go, window.go, rcvtune.go: when it acknowledges, and how much
//	header.go, options.go        the wire; accept.go, blind.go, paws.go, cookie.go: what is to be believed of it
//	engine*.go, listener*.go     a host; trace*.go: what happens there, as JSON lines
//	congestion                   a package: controls of the window, PRR, and who undoes what was spurious
//
// # Time
//
// It is an argument, wheel.Time. Arrivals are taken at their instant; only expiries are at ticks
// (tcptimers has the policies). A segment that was retransmitted is not retransmitted again within
// one RTO of that, unless ACKs show its loss (RFC 6298 §5).
//
// # Timers
//
// Under the policy "per-segment" each segment in flight has exactly one retransmission timer, at
// its own last transmission and the RTO, SACKed or not. When those of one flight expire one after
// another, that is one congestion event: one backoff, one ssthresh. Segments of the flight that
// expire behind the first are lost, and wait for the window like other lost ones. All other timers
// are one of each kind for a connection.
//
// # Memory
//
// An idle connection costs less than 1 KB, its keepalive timer included (BenchmarkIdleConnections);
// what only a flight needs is handed on among the connections of an engine. No input makes it grow
// without bound: segments in flight, ranges out of order and half-open connections have theirs.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
//
// # Limitations
//
// Not here: Fast Open, MD5 and AO, multipath; text in a SYN is not kept. Options reads and writes
// the user timeout option of RFC 5482, but no connection sends it or follows it, as in Linux: a
// peer must not make ours hold its memory for longer. An application sets its own timeout by
// SocketOptions.UserTimeout.
//
// # References
//
// RFC 9293 (TCP), RFC 7323 (timestamps, window scale), RFC 2018 and RFC 2883 (SACK), RFC 3168
// (ECN), RFC 5961 (blind attacks), RFC 5927 (ICMP), RFC 6298 (RTO), RFC 5681, RFC 6582, RFC 6675,
// RFC 8985 (loss recovery), RFC 9937 (PRR), RFC 5682 (F-RTO), RFC 3522 and RFC 4015 (Eifel),
// RFC 9438 (CUBIC), RFC 9406 (HyStart++), L. Brakmo and L. Peterson, "TCP Vegas: End to End
// Congestion Avoidance on a Global Internet" (IEEE JSAC 13(8), 1995).
package tcp
