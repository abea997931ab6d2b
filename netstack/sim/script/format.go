package script

import (
	"fmt"
	"strings"

	"tcpwheel/netstack/tcp"
)

// flagsText formats flags as in a script: "S.", or "-" for none.
func flagsText(f tcp.Flags) string {
	var b []byte
	for i, letter := range []byte(flagLetters) {
		if f.Has(1<<i) && letter != '.' {
			b = append(b, letter)
		}
	}
	if f.Has(tcp.ACK) {
		b = append(b, '.')
	}
	if b == nil {
		return "-"
	}
	return string(b)
}

// String returns the packet as in a script, without its time.
func (p *Packet) String() string {
	var b strings.Builder
	b.WriteString("< ")
	if p.Sent {
		b.Reset()
		b.WriteString("> ")
	}
	if p.Mark != "" {
		fmt.Fprintf(&b, "[%s] ", p.Mark)
	}
	if p.SrcPort != 0 {
		fmt.Fprintf(&b, "%d > %d ", p.SrcPort, p.DstPort)
	}
	fmt.Fprintf(&b, "%s %v:%v(%d)", flagsText(p.Flags), p.Seq.Start, p.Seq.End, p.Seq.Len())
	if p.Flags.Has(tcp.ACK) {
		fmt.Fprintf(&b, " ack %v", p.Ack)
	}
	if p.HasWin {
		fmt.Fprintf(&b, " win %d", p.Win)
	}
	if p.Urg != 0 {
		fmt.Fprintf(&b, " urg %d", p.Urg)
	}
	if p.Options != nil {
		b.WriteString(" " + optionsText(p.Options))
	}
	return b.String()
}

// optionsText formats options as in a script.
func optionsText(options []TCPOption) string {
	if options == nil {
		return "none"
	}
	var all []string
	for _, o := range options {
		all = append(all, o.String())
	}
	return "<" + strings.Join(all, ",") + ">"
}

// String returns the option as in a script.
func (o TCPOption) String() string {
	switch o.Kind {
	case optNOP:
		return "nop"
	case optMSS:
		return fmt.Sprint("mss ", o.Value)
	case optWindowScale:
		return fmt.Sprint("wscale ", o.Value)
	case optSACKPermitted:
		return "sackOK"
	case optTimestamps:
		return fmt.Sprintf("TS val %d ecr %d", o.Value, o.Ecr)
	case optSACK:
		text := "sack"
		for _, r := range o.Blocks {
			text += fmt.Sprintf(" %v:%v", r.Start, r.End)
		}
		return text
	}
	return fmt.Sprint("option ", o.Kind)
}
