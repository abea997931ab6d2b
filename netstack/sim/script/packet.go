package script

import "tcpwheel/netstack/tcp"

// Direction is the direction of a packet.
type Direction uint8

// The script injects inbound packets and expects outbound ones.
const (
	Inbound  Direction = iota // <: arrives at the engine
	Outbound                  // >: the engine must send it
)

// ECN is a mark in the IP header (RFC 3168 §5), or an expected one.
type ECN uint8

// The marks. ECT01 matches either of the two in an expected packet.
const (
	ECNUnset ECN = iota // not given
	NoECN
	ECT0
	ECT1
	CE
	ECT01
)

// Flags are the control bits of a TCP header (RFC 9293 §3.1).
type Flags uint8

// The control bits.
const (
	FIN Flags = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// Packet is a TCP segment that arrives, or one that the engine must send. Sequence numbers count
// from 0 at the SYN of each side.
type Packet struct {
	Pos
	Dir        Direction
	ECN        ECN
	SrcPort    uint16 // 0 if not given
	DstPort    uint16 // 0 if not given
	Flags      Flags
	Seq        tcp.SeqRange // data bytes, without SYN and FIN
	HasAck     bool
	Ack        tcp.Seq
	HasWin     bool
	Win        uint16 // the header's field, not scaled
	HasUrg     bool
	Urg        uint16
	Options    []TCPOption // in order
	AnyOptions bool        // a final "...": any options may follow
}

// OptionKind is the kind of a TCP option, by its number.
type OptionKind uint8

// The supported options (RFC 9293 §3.2, RFC 7323 §2.2 and §3.2, RFC 2018 §2 and §3).
const (
	OptEOL           OptionKind = 0
	OptNOP           OptionKind = 1
	OptMSS           OptionKind = 2
	OptWindowScale   OptionKind = 3
	OptSACKPermitted OptionKind = 4
	OptSACK          OptionKind = 5
	OptTimestamps    OptionKind = 8
)

// Num is a number in an option, or "...", which matches any number.
type Num struct {
	Any   bool
	Value uint32
}

// TCPOption is one option of a segment.
type TCPOption struct {
	Pos
	Kind      OptionKind
	Value     Num            // of OptMSS and OptWindowScale, TSval of OptTimestamps
	Ecr       Num            // TSecr of OptTimestamps
	Blocks    []tcp.SeqRange // of OptSACK: 1 to 4
	AnyBlocks bool           // of OptSACK: "sack ...", without Blocks
}

// ICMP is an error message about a segment.
type ICMP struct {
	Pos
	Dir       Direction
	ECN       ECN
	Type      string // unreachable, source_quench, time_exceeded, parameter_problem
	Code      string // "" is code 0
	HasMTU    bool
	MTU       uint16
	HasQuoted bool
	Quoted    tcp.SeqRange // the segment that the message reports
}

// icmpType is the number of a type and the names of its codes.
type icmpType struct {
	number uint8
	codes  []string // by number
}

// icmpTypes are the errors of RFC 792 with the codes of RFC 1122 §3.2.2.1, in packetdrill's names.
var icmpTypes = map[string]icmpType{
	"unreachable": {3, []string{
		"net_unreachable", "host_unreachable", "protocol_unreachable", "port_unreachable", "frag_needed",
		"source_route_failed", "net_unknown", "host_unknown", "source_host_isolated", "net_prohibited",
		"host_prohibited", "net_unreachable_for_tos", "host_unreachable_for_tos",
	}},
	"source_quench":     {4, nil},
	"time_exceeded":     {11, []string{"ttl_exceeded", "reassembly_time_exceeded"}},
	"parameter_problem": {12, nil},
}

// Numbers returns the type and code for the message's header. ok is false for values that Parse
// refuses.
func (m *ICMP) Numbers() (typ, code uint8, ok bool) {
	t, ok := icmpTypes[m.Type]
	if !ok || m.Code == "" {
		return t.number, 0, ok
	}
	for i, name := range t.codes {
		if name == m.Code {
			return t.number, uint8(i), true
		}
	}
	return 0, 0, false
}
