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

// Info is what users of Linux's TCP_INFO expect, by the names of its fields; segments where Linux
// counts segments. In JSON spans are nanoseconds.
type Info struct {
	State   State   `json:"state"`
	CAState CAState `json:"ca_state"`

	RTO    time.Duration `json:"rto"`     // with its backoff
	SRTT   time.Duration `json:"srtt"`    // 0 until a round trip was measured, as RTTVar and MinRTT
	RTTVar time.Duration `json:"rttvar"`  // by the policy's estimator
	MinRTT time.Duration `json:"min_rtt"` // the least of the last five to ten minutes
	ATO    time.Duration `json:"ato"`     // for how long an ACK is put off
	RcvRTT time.Duration `json:"rcv_rtt"` // as the receiver knows it, 0 if it does not

	Backoff     int `json:"backoff"`     // how many times RTO was doubled
	Retransmits int `json:"retransmits"` // timeouts in a row
	Probes      int `json:"probes"`      // unanswered: window and keepalive

	Cwnd         uint32 `json:"cwnd"`      // bytes
	CwndSegs     uint32 `json:"cwnd_segs"` // segments, rounded down, at least 1
	Ssthresh     uint32 `json:"ssthresh"`  // bytes
	SsthreshSegs uint32 `json:"ssthresh_segs"`

	Unacked      uint32        `json:"unacked"`       // segments
	Sacked       uint32        `json:"sacked"`        // segments of these
	Lost         uint32        `json:"lost"`          // segments of these that are deemed lost
	Retrans      uint32        `json:"retrans"`       // retransmissions that are on their way
	TotalRetrans uint64        `json:"total_retrans"` // segments, since the beginning
	Reordering   bool          `json:"reordering"`    // reordering was seen
	ReoWnd       time.Duration `json:"reo_wnd"`       // RACK's reordering window

	Delivered     uint64 `json:"delivered"`    // segments
	DeliveredCE   uint64 `json:"delivered_ce"` // of these, those that ECN-Echo came with
	SegsIn        uint64 `json:"segs_in"`      // segments of any kind, modulo 2^32
	SegsOut       uint64 `json:"segs_out"`
	DataSegsIn    uint64 `json:"data_segs_in"` // of these, those with text
	DataSegsOut   uint64 `json:"data_segs_out"`
	BytesSent     uint64 `json:"bytes_sent"` // bytes of text, those sent again included
	BytesRetrans  uint64 `json:"bytes_retrans"`
	BytesAcked    uint64 `json:"bytes_acked"`
	BytesReceived uint64 `json:"bytes_received"` // bytes that became readable
	NotSent       uint64 `json:"notsent_bytes"`  // bytes that are written and were never sent
	DSACKDups     uint64 `json:"dsack_dups"`     // DSACKs received

	SndMSS    uint32 `json:"snd_mss"` // bytes, as all of these
	RcvMSS    uint32 `json:"rcv_mss"` // as the peer's segments show it
	AdvMSS    uint32 `json:"advmss"`  // what the peer was told
	PMTU      uint32 `json:"pmtu"`
	SndWnd    uint32 `json:"snd_wnd"` // scaled
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
