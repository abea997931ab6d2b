// Package programs has the parts of the program gateway: the switch between gVisor's TCP and
// tcpwheel's, stacks, and links between them.
//
// Gateway uses a stack as programs of the field do: it has exposed ports and a guest, after
// gvisor-tap-vsock. It takes -tcp gvisor or -tcp ours. Package underloss runs foreign programs over
// lossy links. Package programs is a module of its own, as its code is a user's.
package programs
