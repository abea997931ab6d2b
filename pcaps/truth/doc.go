// Package truth is what is known of the transmissions in a capture from elsewhere, and holds what package track finds against it.
//
// # Usage
//
//	k, err := truth.Load(dir)                 // what package tun/kerneltruth has written
//	for _, p := range k.Points {              // "a", "middle", "b"
//		tally, err := k.Compare(p, nil)
//	}
//	sum, n, err := (&truth.Gate{Seeds: 1}).Run(ctx)    // simulated connections
//
// # What counts
//
// An episode is right if its first retransmission is of the kind that the sender says. Five things are left out: a
// transmission that a kernel's trace does not explain, as its last ones before the trace ends: Kernels.Unmatched; one
// of which the point of capture shows nothing that makes it one of octets sent before; a verdict on one that did not
// arrive; a spurious one that was not found, where SACK would have told it and the ACK with the DSACK was lost:
// Tally.Unreported; and the name of a probe that left when the timeout was due whose place it takes, as nothing tells
// the two apart: Tally.InPlace counts those.
//
// A Share has the interval in which it lies with a probability of 95 %, made of as many episodes as would be
// independent: those of one flow are not.
//
// # Limitations
//
// The kernel's trace has no sequence numbers: a retransmission in the log of the link belongs to the event that is nearest in time.
// Octets that arrived may have been dropped by the receiving kernel, for want of room or for their timestamp: Counters tell.
package truth
