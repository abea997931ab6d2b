package tcptimers

import "time"

// PersistInterval returns how long to wait for the window to open before the next probe, after
// probes in a row. rto is the retransmission timeout without backoff. RFC 9293 §3.8.6.1: the
// first probe is sent when the window has been closed for the retransmission timeout (SHLD-29),
// and the interval grows exponentially (SHLD-30). Here it stays within Policy.PersistMin and
// PersistMax.
func (p *Policy) PersistInterval(rto time.Duration, probes int) time.Duration {
	rto = max(rto, p.PersistMin)
	for ; probes > 0 && rto < p.PersistMax; probes-- {
		rto = 2 * min(rto, p.PersistMax)
	}
	return min(rto, p.PersistMax)
}
