// Package watch follows the TCP connections of a live interface and reports each recovery as it
// ends.
//
// # Usage
//
//	w := watch.New(watch.Config{Interface: "eth0", Episode: func(e *watch.Episode) { … }})
//	l, err := watch.Listen("eth0", watch.Options{})
//	...
//	err = l.Run(ctx, w)
//	w.Close()
//	fmt.Print(w.Snapshot().Summary())
//
// Listen captures on an interface of Linux by a ring shared with the kernel, and needs root or
// CAP_NET_RAW. Pipe reads pcap or pcapng from another program.
//
// # What is counted
//
// A recovery is an episode of package pcaps/track that ended. It is reported a second later, when
// late evidence about it is in. T_rec and the metrics leave out spurious episodes, where nothing
// was lost.
//
// The kernel drops packets if they come faster than they are read. Drops look like losses. An
// episode that overlaps a drop is uncertain: it counts as that and as nothing else.
//
// # Memory and time
//
// Memory is bounded by Config.MaxConns. The last minute keeps 65,536 recoveries; beyond that it is
// shorter. Hosts and ports of the whole run are the 4,096 with the most time lost.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of a Watcher. Config.Episode must not call them.
package watch
