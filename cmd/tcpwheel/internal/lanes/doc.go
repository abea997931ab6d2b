// Package lanes is the model of the demo: several TCPs side by side in virtual time, and the frames
// that show what their timers do. It knows no page and no terminal, and runs in a browser, too.
//
// # Lanes
//
// A lane is two gVisor stacks on an emulated link. Its TCP is this module's under one timer policy,
// or gVisor's own. All lanes get the same requests at the same times, and the same fates of
// packets: the n-th transmission of a byte range of a flow is lost in all lanes or in none.
//
// # Load
//
// Each lane has a web-like load on four connections, a client that reports now and then without an
// answer (so its ACKs are delayed), and an idle connection with keepalive. A request begins in all
// lanes at the same time, when the slowest has the answer of the one before: lanes stay together.
//
// # Time
//
// A Run advances all lanes to the same virtual time. It depends on its seed and its actions alone:
// the same actions at the same times give the same bytes.
//
// # Frames
//
// A Frame is what a page shows of one moment: each lane's wheel, connections and results. Packets
// are in the first frame after them, and in that alone: a Viewer knows what its page has seen. A
// Player makes the frames of a Run.
//
// # Concurrency
//
// No type is safe for concurrent use.
package lanes
