// Package tun joins a gVisor stack to the kernel: a link endpoint over a Linux TUN device, with checksum and
// segmentation offload in both directions.
//
// # Usage
//
//	dev, err := tun.Open("wheel0", tun.Options{})
//	err = dev.AddAddress(netip.MustParsePrefix("10.7.0.1/24")) // the kernel's
//	err = dev.Up()
//	nicErr := stack.CreateNIC(1, dev.Endpoint())              // the stack's side: 10.7.0.2, say
//	...
//	dev.Close() // before the stack's: see Endpoint.Wait
//
// Open needs the right to make devices, CAP_NET_ADMIN, or a device that somebody with that right has made for the user.
// Its error says which of rights, device file and kernel support is missing, and what to do.
//
// # Files
//
// Begin with device_linux.go and endpoint_linux.go; queue_linux.go moves packets between the two, by receiver.go and sender.go.
// vnet.go, headers.go, checksum.go and split.go are offload; wire.go is the emulated link in real time, impair.go and join.go put it before an
// endpoint and between two, and transmissions.go and pathmtu.go belong to it; netns*.go are network namespaces.
//
// # Offload
//
// Each packet that crosses the device carries a virtio-net header. With it, either side hands over TCP super-segments
// of up to 64 KiB, and leaves checksums to whoever needs them, which is nobody if the other side is a local socket. An
// outgoing packet says in its GSOOptions what is left to do, and so does an arriving one: MSS is the size of the
// segments that it was put together from, NeedsCsum that its checksum is that of the pseudo-header only.
//
// The endpoint does not claim CapabilityTXChecksumOffload, under which a packet does not show whether its checksum is
// there. So handshakes and resets are summed by the stack, a few octets each, and segments of data are not, as their
// GSOOptions ask for it. It does claim CapabilityRXChecksumOffload: packets for which the kernel does not vouch are
// verified here, those that are wrong are dropped and counted.
//
// # Emulated links
//
// A Wire is sim.Link, the model of a link, in real time. Impair puts one in each direction between a link endpoint and
// its stack; Join puts them between two link endpoints, so that two kernels talk over it. Super-segments are cut into
// the packets that a real wire carries, each with a fate of its own, and with complete checksums.
//
// # Network namespaces
//
// Options.Netns opens the device in another namespace; everything that the Device does later happens there. The
// goroutine that enters a namespace does so on a thread of its own, which ends with it.
//
// # Concurrency
//
// Multiple goroutines may invoke methods on everything here. Each queue of a device has one goroutine while a stack is
// attached, which waits in the runtime's poller and holds no thread; the goroutine that writes a packet does the system
// call itself. No lock is held while a packet is delivered.
//
// # Limitations
//
// Linux only. UDP is not segmented by the kernel for us (USO), and super-segments with CWR are cut by the kernel first.
// The transport checksums of fragments are not verified.
package tun
