package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
)

// CAState is what congestion control and loss recovery are at, under Linux's names.
type CAState uint8

const (
	CAOpen     CAState = iota // nothing is amiss
	CADisorder                // duplicate ACKs or SACKs
	CACWR                     // the window was reduced for an ECN mark
	CARecovery                // fast recovery
	CALoss                    // after a retransmission timeout
)

// String returns Linux's name without the prefix, in lower case.
func (s CAState) String() string {
	if s > CALoss {
		return "CAState(?)"
	}
	return [...]string{"open", "disorder", "cwr", "recovery", "loss"}[s]
}

// MarshalText writes the name.
func (s CAState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Info is what users of Linux's TCP_INFO expect, by the names of its fields; segments where Linux counts segments.
type Info struct {
	State   State   `json:"state"`
	CAState CAState `json:"ca_state"`

	RTO    time.Duration `json:"rto"`
	SRTT   time.Duration `json:"srtt"`
	RTTVar time.Duration `json:"rttvar"`
	MinRTT time.Duration `json:"min_rtt"`
	ATO    time.Duration `json:"ato"`
	RcvRTT time.Duration `json:"rcv_rtt"`

	Backoff     int `json:"backoff"`
	Retransmits int `json:"retransmits"` // timeouts in a row
	Probes      int `json:"probes"`      // unanswered: window and keepalive

	Cwnd         uint32 `json:"cwnd"`      // octets
	CwndSegs     uint32 `json:"cwnd_segs"` // segments, rounded down, at least 1
	Ssthresh     uint32 `json:"ssthresh"`  // octets
	SsthreshSegs uint32 `json:"ssthresh_segs"`

	Unacked      uint32        `json:"unacked"` // segments
	Sacked       uint32        `json:"sacked"`
	Lost         uint32        `json:"lost"`
	Retrans      uint32        `json:"retrans"` // retransmissions that are on their way
	TotalRetrans uint64        `json:"total_retrans"`
	Reordering   bool          `json:"reordering"` // reordering was seen
	ReoWnd       time.Duration `json:"reo_wnd"`

	Delivered     uint64 `json:"delivered"` // segments
	DeliveredCE   uint64 `json:"delivered_ce"`
	SegsIn        uint64 `json:"segs_in"`
	SegsOut       uint64 `json:"segs_out"`
	DataSegsIn    uint64 `json:"data_segs_in"`
	DataSegsOut   uint64 `json:"data_segs_out"`
	BytesSent     uint64 `json:"bytes_sent"`
	BytesRetrans  uint64 `json:"bytes_retrans"`
	BytesAcked    uint64 `json:"bytes_acked"`
	BytesReceived uint64 `json:"bytes_received"`
	NotSent       uint64 `json:"notsent_bytes"`
	DSACKDups     uint64 `json:"dsack_dups"`

	SndMSS    uint32 `json:"snd_mss"`
	RcvMSS    uint32 `json:"rcv_mss"`
	AdvMSS    uint32 `json:"advmss"`
	PMTU      uint32 `json:"pmtu"`
	SndWnd    uint32 `json:"snd_wnd"`
	RcvWnd    uint32 `json:"rcv_wnd"`
	RcvSpace  uint32 `json:"rcv_space"` // the receive buffer
	SndWScale uint8  `json:"snd_wscale"`
	RcvWScale uint8  `json:"rcv_wscale"`

	Timestamps bool `json:"timestamps"`
	SACK       bool `json:"sack"`
	WScale     bool `json:"wscale"`
	ECN        bool `json:"ecn"`

	SndUna Seq `json:"snd_una"` // relative to ISS
	SndNxt Seq `json:"snd_nxt"`
	RcvNxt Seq `json:"rcv_nxt"` // relative to IRS

	Policy  string           `json:"policy"`
	Control congestion.State `json:"control"`
}
