package lanes

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

const (
	ringTime = wheel.Time(time.Minute) // of a lane's capture
	snapLen  = 96                      // bytes of each packet: its headers
	ringMost = 200_000                 // packets
)

// epoch is the time of day at which captures begin: 2026-01-01, so that equal runs give equal
// bytes.
var epoch = wheel.Time(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

// ring is the last minute of a lane's packets, as they left.
type ring struct{ packets []kept }

type kept struct {
	at      wheel.Time
	header  []byte
	size    uint32
	comment string
}

func (r *ring) add(x *Transmission, p *virtual.Packet) {
	first := 0
	for first < len(r.packets) && (x.At-r.packets[first].at > ringTime || len(r.packets)-first >= ringMost) {
		first++
	}
	if first > len(r.packets)/8 { // now and then, so that it costs little
		r.packets = append(r.packets[:0:0], r.packets[first:]...)
	}
	header := bytes.Clone(p.Bytes[:min(len(p.Bytes), snapLen)]) // not the whole packet
	r.packets = append(r.packets, kept{x.At, header, p.Size, x.comment()})
}

// lostBy says in a comment what lost a packet, by its fate.
var lostBy = map[string]string{events.FateLost: "link", events.FateQueue: "queue", events.FateByHand: "dropped by hand"}

// comment says what a reader of a capture wants to know of a packet, "" for nothing.
func (x *Transmission) comment() string {
	text := ""
	if x.Again {
		text = "tcpwheel: retransmission by " + x.By
		if x.Armed > 0 {
			text += fmt.Sprintf(", armed %v before", x.At.Sub(x.Armed))
		}
	}
	if x.Lost != "" {
		if text == "" {
			text = "tcpwheel:"
		} else {
			text += ";"
		}
		text += " lost (" + lostBy[x.Lost] + ")"
	}
	return text
}

// write writes the ring as pcapng.
func (r *ring) write(w io.Writer, lane string) error {
	const linkTypeIPv4 = 228
	out, err := pcapng.NewFile(w, "tcpwheel demo", lane, linkTypeIPv4)
	if err != nil {
		return err
	}
	for _, p := range r.packets {
		if n := len(r.packets); n > 0 && r.packets[n-1].at-p.at > ringTime {
			continue
		}
		if err := out.WritePacket(0, epoch+p.at, p.header, p.size, p.comment); err != nil {
			return err
		}
	}
	return nil
}

func itoa(n int) string { return strconv.Itoa(n) }

func percent(p float64) string { return strconv.FormatFloat(p*100, 'f', -1, 64) + "%" }
