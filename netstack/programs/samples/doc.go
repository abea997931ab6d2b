//go:build linux

// Samples runs connections between the TCPs of two kernels over emulated links, and writes captures
// of them. It records the truth about each transmission: its fate, from the links' logs, and the
// cause of each retransmission, from the kernel's own trace. It made the folder pcaps/samples.
//
// # Usage
//
//	samples DIR [NAME...]
//
// It runs the scenarios of DIR/scenarios.json, or only those with these names, and writes the files
// of each to DIR/NAME, compressed with gzip:
//
//	a.pcapng, b.pcapng    packets at either end
//	middle.pcapng         packets at the router, on its side towards a
//	fates.jsonl           the log of the link at a, in the format of tun/link
//	far-fates.jsonl       the log of the link at b, if there is a router
//	kernel.jsonl          the kernel's release, each retransmission, both ends' counters
//
// The type scenario is their format: links, connections, and the turns of each connection. The ends
// are the namespaces a and b. With "far" there is a router between them, whose capture is called
// middle.
//
// # The kernel's trace
//
// The tracepoint tcp_retransmit_skb and the stack of its caller give the cause:
// tcp_retransmit_timer is the retransmission timer, tcp_send_loss_probe the tail loss probe, and
// tcp_xmit_retransmit_queue recovery by ACKs. In the state Loss, which tcp_cong_state_set shows,
// the last means go-back-N after a timeout. The program makes its own tracing instance, which traces
// only connections with its port, and removes it. One run at a time has it.
//
// # Limitations
//
// Linux only, as root, with tracefs mounted. Tests of capture analysis need none of this: they read
// the files.
package main
