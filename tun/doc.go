// Package tun connects a gVisor stack to the kernel through a Linux TUN device, with checksum and
// segmentation offload in both directions.
//
// # Usage
//
//	dev, err := tun.Open("wheel0", tun.Options{})
//	err = dev.AddAddress(netip.MustParsePrefix("10.7.0.1/24")) // the kernel's
//	err = dev.Up()
//	nicErr := stack.CreateNIC(1, dev.Endpoint())               // the stack's side, say 10.7.0.2
//	...
//	dev.Close() // before the stack: see Endpoint.Wait
//
// Open needs CAP_NET_ADMIN, or a device that root made for the user. Its error says whether rights,
// the device file or kernel support are missing, and what to do.
//
// # Files
//
// Start with device_linux.go and endpoint_linux.go. queue_linux.go moves packets between the two,
// with receiver.go and sender.go. vnet.go, headers.go, checksum.go and split.go implement offload.
// wire.go is the emulated link in real time; impair.go and join.go put it before an endpoint or
// between two; transmissions.go and pathmtu.go belong to it. netns*.go are network namespaces.
//
// # Offload
//
// A virtio-net header precedes each packet that crosses the device. It lets either side pass TCP
// super-segments of up to 64 KiB, and leave checksums to a network card: between local sockets they
// are never computed. The GSOOptions of a packet, outgoing or arriving, say what is left to do: MSS
// is the size of its segments, and with NeedsCsum its checksum covers only the pseudo-header.
//
// The endpoint does not claim CapabilityTXChecksumOffload, because a packet would then not show
// whether it has its checksum. So the stack computes the checksums of handshakes and resets, which
// are small. Data segments request offload in their GSOOptions. The endpoint does claim
// CapabilityRXChecksumOffload: it verifies the packets for which the kernel does not vouch, and
// drops and counts those with a wrong checksum.
//
// # Emulated links
//
// Impair puts an emulated link between a link endpoint and its stack. Join puts one between two
// link endpoints, so that two kernels communicate over it. Each direction is a sim.Link in real
// time. The link cuts super-segments into the packets that a real wire carries, each with complete
// checksums and a fate of its own.
//
// # Network namespaces
//
// Options.Netns opens the device in another namespace. All later operations of the Device happen
// there. A function that enters a namespace runs on a thread of its own, which ends with it.
//
// # Concurrency
//
// Multiple goroutines may invoke methods on everything in this package. While a stack is attached,
// one goroutine waits in the runtime's poller, without holding a thread. A packet is
// written by the goroutine that sends it, with one system call. No lock is held while a packet is
// delivered.
//
// # Limitations
//
// Linux only. There is no UDP segmentation offload (USO), and the kernel segments super-segments
// with CWR before it passes them on. Transport checksums of fragments are not verified.
package tun
