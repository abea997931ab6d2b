package capture

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var withTshark = flag.Bool("tshark", false, "compare every field of every packet with tshark, which takes a minute")

// tsharkFields are the fields compared. In tunnels tshark prints those of all headers; the last one
// counts.
var tsharkFields = []string{
	"frame.number", "ip.src", "ipv6.src", "ip.dst", "ipv6.dst", "tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len",
	"tcp.flags", "tcp.window_size_value", "tcp.checksum", "tcp.options.timestamp.tsval", "tcp.options.sack_le",
}

// tsharkLines runs tshark and returns the fields of each TCP packet.
func tsharkLines(t *testing.T, path string, more ...string) (lines [][]string) {
	t.Helper()
	args := append([]string{"-n", "-r", path, "-Y", "tcp && !icmp && !icmpv6", "-T", "fields", "-E", "occurrence=l", "-o", "tcp.desegment_tcp_streams:FALSE",
		"-o", "tcp.analyze_sequence_numbers:FALSE", "-o", "tcp.relative_sequence_numbers:FALSE"}, more...)
	for _, f := range tsharkFields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command("tshark", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan(); {
		lines = append(lines, strings.Split(s.Text(), "\t"))
	}
	cmd.Wait() // it fails where a file is cut short
	return lines
}

// tsharkLine returns what tshark would print of a packet.
func tsharkLine(p *Packet) string {
	v4src, v4dst, v6src, v6dst := p.Src.Addr().String(), p.Dst.Addr().String(), "", ""
	if p.Src.Addr().Is6() {
		v4src, v4dst, v6src, v6dst = "", "", v4src, v4dst
	}
	flags := fmt.Sprintf("%#04x", uint16(p.Header.Flags))
	ts, sack := "", ""
	if o := p.Header.Options; o.HasTimestamps {
		ts = fmt.Sprint(o.TSVal)
	}
	if o := p.Header.Options; o.NumSACK > 0 {
		sack = fmt.Sprint(uint32(o.SACK[o.NumSACK-1].Start))
	}
	return fmt.Sprint(p.Number, v4src, " ", v6src, " ", v4dst, " ", v6dst, " ", p.Src.Port(), " ", p.Dst.Port(), " ", uint32(p.Header.Seq), " ",
		uint32(p.Header.Ack), " ", p.Len, " ", flags, " ", p.Header.Window, " ", fmt.Sprintf("%#04x", p.Header.Checksum), " ", ts, " ", sack)
}

func tsharkText(fields []string, inner6 bool) string {
	v4src, v6src, v4dst, v6dst := fields[1], fields[2], fields[3], fields[4]
	if v4src != "" && v6src != "" { // one version tunnelled through the other
		if inner6 {
			v4src, v4dst = "", ""
		} else {
			v6src, v6dst = "", ""
		}
	}
	var flags uint16
	fmt.Sscanf(fields[10], "0x%x", &flags)
	return fmt.Sprint(fields[0], v4src, " ", v6src, " ", v4dst, " ", v6dst, " ", fields[5], " ", fields[6], " ", fields[7], " ",
		fields[8], " ", fields[9], " ", fmt.Sprintf("%#04x", flags&0xff), " ", fields[11], " ", fields[12], " ", fields[13], " ", fields[14])
}

func needTshark(t *testing.T) {
	t.Helper()
	if !*withTshark {
		t.Skip("needs the flag -tshark")
	}
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip(err)
	}
}

// TestAgreesWithTshark compares each TCP packet of the public captures.
func TestAgreesWithTshark(t *testing.T) {
	needTshark(t)
	for _, truth := range publicTable(t, "truth_files.tsv") {
		name := truth["file"]
		r, err := Open(publicFile(t, name))
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, line := range tsharkLines(t, publicFile(t, name)) {
			p, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %v, tshark %v", name, err, line)
			}
			if got, want := tsharkLine(p), tsharkText(line, p.Src.Addr().Is6()); got != want {
				t.Fatalf("%s:\n%s, tshark\n%s", name, got, want)
			}
			compared++
		}
		if p, err := r.Next(); err == nil {
			t.Errorf("%s: %+v, tshark has no more", name, *p)
		}
		t.Logf("%s: %d packets agree", name, compared)
		r.Close()
	}
}

// tsharkDiffers lists the built packets that tshark 4.0 reads differently, with the reason.
var tsharkDiffers = map[string]string{
	"QinQ with old types":                            "0x9200 and 0x9300 are not VLANs for it",
	"Cisco metadata of two options":                  "it reads one option, whatever the length says",
	"MPLS with a pseudowire without control word":    "it needs a setting",
	"MPLS with a pseudowire to an address like IPv4": "it needs a setting",
	"NFLOG, big-endian":                              "it needs a setting for the byte order",
	"IPv6 segment routing":                           "it shows the next hop, not the last",
	"IPv6 mobile routing":                            "it shows the next hop, not the last",
	"IPv6 jumbogram":                                 "it requires 65,536 bytes",
}

// TestBuiltPacketsAgreeWithTshark lets tshark read the packets of TestEncapsulations, so that
// builder and decoder do not share an error.
func TestBuiltPacketsAgreeWithTshark(t *testing.T) {
	needTshark(t)
	g := (&ng{byteOrder: binary.LittleEndian}).section()
	for _, c := range encapsulations {
		g.port(c.link, 0)
	}
	for i, c := range encapsulations {
		g.packet(i, uint64(i), c.data)
	}
	path := filepath.Join(t.TempDir(), "built.pcapng")
	if err := os.WriteFile(path, g.b, 0o600); err != nil {
		t.Fatal(err)
	}
	all, _, err := readBytes(t, g.b)
	if err != io.EOF || len(all) != len(encapsulations) {
		t.Fatalf("%d packets, %v", len(all), err)
	}
	seen := map[string][]string{}
	for _, line := range tsharkLines(t, path, "-d", "udp.port==8472,vxlan") {
		seen[line[0]] = line
	}
	for i := range all {
		if tsharkDiffers[encapsulations[i].name] != "" {
			continue
		}
		line, ok := seen[itoa(int64(i+1))]
		if !ok {
			t.Errorf("%s: tshark sees no segment", encapsulations[i].name)
			continue
		}
		if got, want := tsharkLine(&all[i]), tsharkText(line, all[i].Src.Addr().Is6()); got != want {
			t.Errorf("%s:\n%s, tshark\n%s", encapsulations[i].name, got, want)
		}
	}
}
