// Package truth knows what happened to each transmission of a capture, from a simulator or from
// kernels on an emulated link, and compares it with what package track infers.
//
// # Usage
//
//	k, err := truth.Load(dir)                       // written by package tun/kerneltruth
//	for _, p := range k.Points {                    // "a", "middle", "b"
//		tally, err := k.Compare(p, nil)
//	}
//	sum, n, err := (&truth.Gate{Seeds: 1}).Run(ctx) // simulated connections
//
// # What counts
//
// An episode is right if its first retransmission has the sender's kind. Five cases are left out:
//
//   - a retransmission that the kernel's trace does not explain, as the last ones before it ends
//     (Kernels.Unmatched);
//   - one that looks like a first transmission at the point of capture;
//   - the verdict on one that did not arrive;
//   - a spurious one that was not found because the ACK with its DSACK was lost (Tally.Unreported);
//   - the name of a probe that left when the timeout that it replaces was due (Tally.InPlace).
//
// The interval of a Share has 95 % confidence. Losses of one flow are not independent, so it rests
// on the effective number of episodes.
//
// # Limitations
//
// The kernel's trace has no sequence numbers: a retransmission in the link's log is matched with
// the nearest event in time. Bytes that arrived may have been dropped by the receiving kernel, for
// lack of memory or by PAWS: see Kernels.Counters.
package truth
