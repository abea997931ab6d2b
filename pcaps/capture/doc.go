// Package capture reads TCP segments from packet captures, and copies captures with comments.
//
// # Usage
//
//	r, err := capture.Open("lossy.pcapng.gz")
//	...
//	defer r.Close()
//	for {
//		p, err := r.Next()
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return err // names file, packet, offset and reason; errors.Is(err, capture.ErrCutShort)
//		}
//		use(*p)
//	}
//
// # Formats
//
// Files: pcap with stamps in µs or ns, in both byte orders, of all versions 2.x, and the variants
// of Kuznetzov's patches, Nokia, AIX, Ixia and DG/UX; pcapng with any number of sections and
// interfaces; each plain or compressed with gzip, zstd or bzip2. The first bytes decide, not the
// name, and the first records where variants share a magic number.
//
// Link types: Ethernet, raw IP, NULL and LOOP, SLL and SLL2, PPP, PPPoE, Cisco's HDLC, ATM, FDDI,
// 802.11 (plain, or with radiotap, Prism or PPI headers), NFLOG, PFLOG, PKTAP. Tags: VLANs in any
// number, Cisco security group tags, MPLS. Tunnels: IP in IP, GRE, NVGRE, PPTP, ERSPAN, VXLAN,
// Geneve, GTP-U. The innermost TCP segment counts. IP fragments are reassembled.
//
// # gopacket
//
// Ethernet, VLAN tags, SLL, NULL, IP, TCP and ICMP are decoded here, with gopacket as a twin in the
// tests. The other headers are decoded by gopacket's package layers, and by our own code where that
// cannot; layers.go lists where, and why. Its tables add 4 to 6 ms to each start of the command.
// Hostile packets cannot make it panic, print, or read past the packet.
//
// A Reader is a source of packets for gopacket's decoders, and NewPacketReader reads any source of
// gopacket: libpcap, AF_PACKET, PF_RING, or a program's own. Packages track and replay take either.
//
// Files are neither read nor written by gopacket's package pcapgo. The reasons are in pcapfile.go
// for reading, in annotate.go for writing.
//
// # Time and memory
//
// A packet costs less than 100 ns and no allocation, or one to three where gopacket decodes MPLS,
// PPP, PPPoE, FDDI, 802.11 or options of Geneve (TestAllocations).
//
// Memory is bounded whatever the file says: a
// window over the file of at most 16 MiB, 64 datagrams of 64 KiB in reassembly, 65,536 interfaces,
// and zstd's window of at most 128 MiB. TestMemoryIsBounded and the fuzz targets check this.
//
// # Limitations
//
// TCP headers quoted by ICMP are not segments; OnICMPError reports the errors. Fragments that never
// arrive leave gaps in the sequence space. Encrypted tunnels are opaque. A damaged file is
// read up to the damage; the reader does not search for the next packet.
package capture
