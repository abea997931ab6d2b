// Package kerneltruth runs connections between the TCPs of two kernels over emulated links, and writes down what is true of each
// transmission: its fate, by the log of the links, and what made the kernel send it again, by the kernel's own trace.
//
// # Usage
//
//	err := kerneltruth.Run(ctx, scenario, "samples/tail")
//
// A Scenario is data: links, connections, and what these say in turns. The ends are the namespaces a and b; with Scenario.Far there is
// a router between them, that is in the capture called middle.
//
// # Files
//
// Run writes to a directory, all compressed with gzip:
//
//	a.pcapng.gz, b.pcapng.gz    what passes at either end
//	middle.pcapng.gz            what passes at the router, on its side towards a
//	fates.jsonl.gz              the log of the link at a, as package link describes it
//	far-fates.jsonl.gz          that of the link at b, with a router
//	kernel.jsonl.gz             a JSON object per line: the kernel's release, a Retransmission each, and the Counters of both ends
//
// # What the kernel tells
//
// The tracepoint tcp_retransmit_skb, with the stack of its caller: tcp_retransmit_timer is the retransmission timer,
// tcp_send_loss_probe the probe for a lost tail, and tcp_xmit_retransmit_queue what follows from ACKs, or in the state Loss from
// the timeout before, which tcp_cong_state_set tells. Run makes an instance of the kernel's tracing of its own, in which only the
// connections of the scenario are traced, and removes it.
//
// # Concurrency
//
// Runs may be concurrent. Each has its own namespaces and ports.
//
// # Limitations
//
// Linux only, as root, with tracefs mounted. Tests of what an analysis of captures finds need nothing of this: they read the files.
package kerneltruth
