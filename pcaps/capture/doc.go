// Package capture reads TCP segments out of packet captures, and copies captures with comments.
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
//			return err // names the file, the packet, the offset and the reason; errors.Is(err, capture.ErrCutShort)
//		}
//		use(*p)
//	}
//
// # What is read
//
// Formats: pcap with stamps in micro- and nanoseconds, in both byte orders, of all versions 2.x and with Kuznetzov's
// additions; pcapng with any number of sections and interfaces; either as it is or compressed with gzip, zstd or bzip2.
// The first octets decide, and not the name.
//
// Link types: Ethernet, raw IP, NULL and LOOP, Linux's SLL and SLL2, PPP, PPPoE, Cisco HDLC, ATM, Token Ring, IP over IEEE 1394 and
// InfiniBand, NFLOG, PKTAP, IPNET, ENC, and what gopacket knows, wireless ones above all. Tags: VLANs in any number, PBB, Cisco's
// security group tags, VN-Tag, E-Tag, R-Tag, FabricPath, MPLS, NSH. Tunnels: IP in IP, GRE, NVGRE, PPTP, ERSPAN, EtherIP,
// VXLAN, Geneve, GTP-U, L2TP, Teredo, LISP, TZSP, MPLS over IP and UDP. The innermost TCP counts. IP fragments are put together.
//
// # Time and memory
//
// A packet costs less than 100 ns and no allocation. Memory is bounded whatever the file says: a window over the file, of
// twice the longest packet (16 MiB) at most; 64 datagrams of 64 KiB that wait for fragments; 65,536 interfaces; the window
// of zstd, at most 128 MiB. TestMemoryIsBounded and the fuzz targets hold it to that.
//
// # Limitations
//
// TCP headers that ICMP quotes are not segments. The sequence numbers of fragments that never arrive are gaps. Encrypted
// tunnels are closed. A file that is damaged is read up to the damage: the reader does not search for the next packet.
package capture
