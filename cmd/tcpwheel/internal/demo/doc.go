// Package demo runs several TCPs side by side in virtual time and shows what their timers do: as a
// table, as JSON, and as a live page.
//
// # Lanes
//
// A lane is two gVisor stacks on an emulated link. Its TCP is this module's under one timer policy,
// or gVisor's own. All lanes get the same requests at the same times, and the same fates of
// packets: the n-th transmission of a byte range of a flow is lost in all lanes or in none.
//
// # Load
//
// Each lane has a web-like load on four connections, one bulk download, a client that reports now
// and then without an answer (so its ACKs are delayed), and an idle connection with keepalive.
//
// # Time
//
// A Run advances all lanes to the same virtual time. It depends on its seed and its actions alone:
// the same actions at the same times give the same bytes. Going back is running again.
//
// # Concurrency
//
// A Run is not safe for concurrent use. Server serialises all access to its Run.
package demo
