package testnet

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack"
	"tcpwheel/wheel"
)

// capture keeps the latest packets of a host, for the case that the test fails.
type capture struct {
	records []*record // oldest first
	bytes   int
	dropped uint64 // older packets that did not fit
}

// record is a captured packet.
type record struct {
	at      wheel.Time
	heading pcapng.Direction
	data    []byte
	causes  []netstack.Cause
	fate    string // what a link or NAT did to it; "" is nothing
}

// captureSize bounds a capture in bytes of packets. The oldest packets go first.
const captureSize = 32 << 20

// add captures a packet and returns its record.
func (c *capture) add(at wheel.Time, heading pcapng.Direction, data []byte, causes []netstack.Cause) *record {
	r := &record{at: at, heading: heading, data: bytes.Clone(data), causes: causes}
	c.records = append(c.records, r)
	c.bytes += len(data)
	for c.bytes > captureSize {
		c.bytes -= len(c.records[0].data)
		c.records[0] = nil
		c.records = c.records[1:]
		c.dropped++
	}
	return r
}

func (c *capture) empty() bool { return len(c.records) == 0 }

// note records what happened to a packet on its path.
func (r *record) note(text string) {
	if text == "" {
		return
	}
	if r.fate != "" {
		text = r.fate + "; " + text
	}
	r.fate = text
}

// comment describes a packet: the timers that sent it, and its fate.
func (r *record) comment() string {
	text := netstack.DescribeCauses(r.at, r.causes)
	if text != "" && r.fate != "" {
		text += "; "
	}
	return text + r.fate
}

// WriteCapture writes the packets that the host has sent and received as pcapng: the latest 32 MB
// of them. Comments name the timers that sent a packet, and say what became of it on its path.
func (h *Host) WriteCapture(w io.Writer) error {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	epoch := wheel.Time(n.epoch.UnixNano())
	buf := bufio.NewWriter(w)
	out, err := pcapng.NewFile(buf, "tcpwheel testnet", h.name, pcapng.LinkTypeRaw)
	if err != nil {
		return err
	}
	for _, r := range h.capture.records {
		if err := out.WriteDirected(0, epoch+r.at, r.heading, r.data, uint32(len(r.data)), r.comment()); err != nil {
			return err
		}
	}
	if d := h.capture.dropped; d > 0 {
		if err := out.WriteStatistics(0, epoch+n.now(), d+uint64(len(h.capture.records)), d); err != nil {
			return err
		}
	}
	return buf.Flush()
}

// saveCapture writes the capture to a file and returns its name. With go test -artifacts it is in
// the test's ArtifactDir, else next to the test.
func (h *Host) saveCapture() (name string, err error) {
	t := h.net.t
	name = h.name + ".pcapng"
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		name = filepath.Join(t.ArtifactDir(), name)
	} else {
		name = strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(t.Name()) + "." + name
	}
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	if err := h.WriteCapture(f); err != nil {
		f.Close()
		return "", err
	}
	return name, f.Close()
}
