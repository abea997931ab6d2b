// Package congestion decides how much a TCP sender may have in flight. It has congestion
// controllers behind one interface, Proportional Rate Reduction, pacing, and detectors of spurious
// retransmissions.
//
// # Usage
//
//	c, err := congestion.New("cubic", congestion.Config{MSS: 1460})
//	c.OnAck(now, ack)                                   // new data was acknowledged, outside fast recovery
//	c.OnCongestion(now, flight, congestion.FastRetransmit)
//	prr.Start(c.Ssthresh(), mss, recoverFS)             // PRR decides what to send during recovery
//	c.OnRecovered(now, flight)
//
// Names lists the controllers that New accepts. All sizes are bytes.
//
// # Files
//
// Start with controller.go, the interface, and window.go, which all controllers share. newreno.go,
// cubic.go and vegas.go are the controllers; hystart.go, validation.go and replace.go serve several
// of them. prr.go and pacing.go decide when segments are sent. frto.go and undo.go find spurious
// retransmissions.
//
// # Arithmetic
//
// Each controller computes the same windows on every machine, to the bit. CUBIC uses float64. A
// compiler may fuse x*y+z into one instruction that rounds once; Go does on arm64, ppc64 and s390x
// but not on amd64. So each product in a sum is converted with float64(), which by the language
// prevents fusing. The cube root is computed here, because math.Cbrt lacks such conversions.
//
// # Concurrency and time
//
// Nothing here is safe for concurrent use, reads a clock, or allocates after New.
//
// # Limitations
//
// Acknowledged bytes count up to the flight. The caller knows the flight and decides when an ACK
// means congestion, at most once per window of data.
package congestion
