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
// Each lane has a web-like load on four connections, one bulk download, a client that reports now
// and then without an answer (so its ACKs are delayed), and an idle connection with keepalive.
//
// # Time
//
// A Run advances all lanes to the same virtual time. It depends on its seed and its actions alone:
// the same actions at the same times give the same bytes.
//
// A Player plays a Run and keeps a log of its frames, so that any moment of the past can be shown
// at once. What changes the past (another policy of a lane, an action before now) makes another
// run, which the Player brings up to date in small pieces between frames. Until then it shows the
// old one.
//
// # Frames
//
// A Frame is what a page shows of one moment: each lane's wheel, connections and results. Packets
// and notes about timers are in the first frame after them, and in that alone: a Viewer knows what
// its page has seen. The log has four frames a second, with all packets. Beyond its bound it drops
// wheels and ACKs of the oldest times first, then all packets but losses and retransmissions.
//
// # Concurrency
//
// No type is safe for concurrent use.
package lanes
