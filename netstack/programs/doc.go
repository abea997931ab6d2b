// Package programs has what the three programs below it share: the switch between gVisor's TCP and
// tcpwheel's, stacks, and links between them.
//
// The programs use a stack as programs of the field do:
//
//   - tunnel: a userspace tunnel with dial and listen, after wireguard-go's tun/netstack;
//   - forwarder: a forwarder that proxies every SYN to the host, after tun2socks;
//   - gateway: a gateway with exposed ports and a guest, after gvisor-tap-vsock.
//
// Each takes -tcp gvisor or -tcp ours. Package programs is a module of its own, as its code is a
// user's.
package programs
