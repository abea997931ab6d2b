// Package congestion holds what decides how much a TCP sender may have in flight: congestion
// controls behind one interface, Proportional Rate Reduction, pacing, and the detectors of spurious
// retransmissions.
//
// # Usage
//
//	c, err := congestion.New("cubic", congestion.Config{MSS: 1460})
//	c.OnAck(now, ack)                                   // new data was acknowledged, outside fast recovery
//	c.OnCongestion(now, flight, congestion.FastRetransmit)
//	prr.Start(c.Ssthresh(), mss, recoverFS)             // what to send during recovery is PRR's to say
//	c.OnRecovered(now, flight)
//
// Names lists the names that New knows. All sizes are bytes.
//
// # Files
//
// Begin with controller.go, the interface, and window.go, which all controls have in common.
// newreno.go, cubic.go and vegas.go are the controls, hystart.go, validation.go and replace.go what
// they share; prr.go and pacing.go say when segments leave, and frto.go and undo.go which
// retransmissions were spurious.
//
// # Arithmetic
//
// Every control computes the same windows on every machine, to the bit. CUBIC uses float64, and a
// compiler may fuse x*y+z into one instruction that rounds once (Go does on arm64, ppc64 and s390x,
// not on amd64): so each product that is added to is converted with float64(), which the language
// says prevents it, and the cube root is computed here, because math.Cbrt is written without such
// care.
//
// # Concurrency and time
//
// Nothing here is safe for concurrent use, reads a clock, or allocates after New.
//
// # Limitations
//
// Bytes acknowledged are believed up to what was in flight. Which bytes were in flight is the
// caller's to know, and so is when an ACK means congestion: the controls are told, once per window
// of data.
package congestion
