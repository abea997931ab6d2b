// Package tcp is a TCP engine: RFC 9293 with a retransmission timer for each segment in flight. It
// has no goroutines, locks, clock, I/O or payload bytes.
//
// It works on sequence ranges instead of payloads, so a simulator, a replayer and a real stack can
// share it. For an arriving segment it returns a Disposition. A segment to send names its range in
// the stream.
//
// # Usage
//
// A Conn is one connection; its calls leave their results in an Output for the owner to carry out.
// An Engine is a host: connections, listeners, the wheel with all their timers, and counters.
//
//	e, err := tcp.NewEngine(now, tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Key: key})
//	s, err := e.Dial(now, local, remote, nil)
//	e.Wrote(now, s, 1000, 0)
//	s, disposition := e.Input(now, &packet)
//	e.Advance(now)                       // no later than NextTimeout
//
//	for _, p := range e.Packets() { … }  // after each of these: send the packets,
//	for _, n := range e.Notices() { … }  // deliver the events,
//	e.Reset()                            // and reset
//
// # Files
//
// Start with conn.go, the state of a connection. Then read conn_input.go for what an arriving
// segment does, and conn_send.go for what is sent after it.
//
//	conn_open.go, conn_close.go  the handshake; FIN, RST and TIME-WAIT
//	conn_input.go, conn_admit.go
//	                             SEGMENT ARRIVES; what is rejected or challenged
//	conn_ack.go, conn_sack.go, conn_rtt.go
//	                             cumulative and selective ACKs, and their RTT samples
//	conn_recovery.go, conn_undo.go
//	                             loss recovery; undoing what was spurious
//	conn_vegas.go                the loss check of TCP Vegas, for any controller
//	conn_recv.go                 arriving data, and when to acknowledge it
//	conn_send.go, conn_burst.go  new data, the windows, Nagle; bursts of full segments
//	conn_cwnduse.go              whether the congestion window limits the sender
//	conn_rexmit.go, conn_segment.go
//	                             retransmissions; building segments
//	conn_timers.go, conn_timeout.go, conn_probe.go, conn_losstimer.go
//	                             starting, stopping and expiry; the retransmission timeout; loss
//	                             and window probes; Linux's shared loss timer
//	conn_icmp.go, conn_reconfig.go, conn_check.go
//	                             ICMP; changing the configuration; invariants
//	conn_info.go, conn_meter.go  TCP_INFO; delivery rate, and what limits the sender
//	flight.go                    state needed only while data is in flight
//	sent*.go                     the segments in flight; rack.go and tlp.go detect losses;
//	                             loss6675.go and dupack.go do without RACK
//	delack_evidence.go           whether the peer delays ACKs, for the probe of tlp.go
//	recvqueue.go, sackgen.go     out-of-order data and the SACK blocks that report it
//	delack.go, rcvwindow.go, rcvbuffer.go
//	                             when and how much the receiver acknowledges and advertises
//	header.go, options.go        the wire format
//	arrival.go, blind.go, paws.go, cookie.go
//	                             validating what arrives
//	engine*.go, listener*.go     a host
//	trace*.go                    events as JSON lines
//	replay.go                    following a captured sender, for replays
//	congestion                   a package: congestion controllers, PRR, and spurious timeouts
//
// # Time
//
// Time is an argument, wheel.Time. Arrival times are exact; only timer expiries are on ticks
// (package tcptimers has the policies). A retransmitted segment is not retransmitted again within
// one RTO, unless ACKs show that it was lost (RFC 6298 §5).
//
// # Timers
//
// With the policy "per-segment" each segment in flight has exactly one retransmission timer, one
// RTO after its own last transmission. A SACK stops it, because the segment has arrived. Only the
// first segment has a timer even if it is SACKed, which detects a peer that reneges. If the timers
// of one flight expire one after another, that is one congestion event: one backoff, one ssthresh.
// Segments that expire after the first are marked lost and wait for the congestion window like
// other lost segments. All other timers exist once per connection.
//
// # Memory
//
// An idle connection costs about 1 KB, including its keepalive timer
// (BenchmarkIdleConnections). The connections of an engine reuse the state that only a flight
// needs. Segments in flight, out-of-order ranges and half-open connections are bounded, so no input
// makes memory grow without bound.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
//
// # Limitations
//
// Fast Open, MD5, TCP-AO and multipath are missing, and data in a SYN is dropped. Options reads and
// writes the user timeout option of RFC 5482, but as in Linux no connection sends or follows it: a
// peer must not make us hold its memory for longer. Use SocketOptions.UserTimeout instead.
//
// # References
//
// RFC 9293 (TCP), RFC 7323 (timestamps, window scale), RFC 2018 and RFC 2883 (SACK), RFC 3168
// (ECN), RFC 5961 (blind attacks), RFC 5927 (ICMP), RFC 6298 (RTO), RFC 5681, RFC 6582, RFC 6675,
// RFC 8985 (loss recovery), RFC 9937 (PRR), RFC 5682 (F-RTO), RFC 3522 and RFC 4015 (Eifel),
// RFC 9438 (CUBIC), RFC 9406 (HyStart++), L. Brakmo and L. Peterson, "TCP Vegas: End to End
// Congestion Avoidance on a Global Internet" (IEEE JSAC 13(8), 1995).
package tcp
