package tcp

import (
	"encoding/json"
	"time"

	"tcpwheel/netstack/tcp/congestion"
)

// CAState is the state of congestion control and loss recovery, with Linux's names.
type CAState uint8

const (
	CAOpen     CAState = iota // no duplicate ACKs or SACKs
	CADisorder                // duplicate ACKs or SACKs arrived
	CACWR                     // the window was reduced for ECN or a loss probe
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

// MarshalText returns the name.
func (s CAState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Info is a snapshot of a connection, with the fields of Linux's TCP_INFO. Counts are segments
// where Linux counts segments. Durations are seconds in JSON, which has all fields in one object.
type Info struct {
	State   State   `json:"state"`
	CAState CAState `json:"ca_state"`

	RTTInfo

	Backoff     int `json:"backoff"` // how many times the RTO was doubled
	Retransmits int `json:"consecutive_timeouts"`
	Probes      int `json:"probes"` // unanswered window and keepalive probes

	Cwnd         uint32 `json:"cwnd"`      // bytes
	CwndSegs     uint32 `json:"cwnd_segs"` // rounded down, at least 1
	Ssthresh     uint32 `json:"ssthresh"`  // bytes
	SsthreshSegs uint32 `json:"ssthresh_segs"`

	FlightInfo
	TrafficInfo
	RateInfo
	SizeInfo

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

// RTTInfo has the round trip and the times that follow from it.
type RTTInfo struct {
	RTO    time.Duration `json:"rto_s"`     // backoff included
	SRTT   time.Duration `json:"srtt_s"`    // 0 until measured, like RTTVar and MinRTT
	RTTVar time.Duration `json:"rttvar_s"`  // from the policy's estimator
	MinRTT time.Duration `json:"min_rtt_s"` // minimum of the last five to ten minutes
	ATO    time.Duration `json:"ato_s"`     // delay of a delayed ACK
	RcvRTT time.Duration `json:"rcv_rtt_s"` // the receiver's estimate, 0 if unknown
}

// FlightInfo says what is in flight, and what is known of reordering.
type FlightInfo struct {
	Unacked      uint32 `json:"unacked"` // segments
	Sacked       uint32 `json:"sacked"`  // of Unacked
	Lost         uint32 `json:"lost"`    // of Unacked, deemed lost
	Retrans      uint32 `json:"retransmissions_in_flight"`
	TotalRetrans uint64 `json:"retransmissions"` // of the whole connection

	Reordering     uint32        `json:"reordering"`      // largest overtaking, segments, 3..300
	ReorderingSeen uint32        `json:"reordering_seen"` // ACKs that showed reordering
	ReoWnd         time.Duration `json:"reo_wnd_s"`       // RACK's reordering window
}

// TrafficInfo counts what was sent and received.
type TrafficInfo struct {
	Delivered     uint64 `json:"delivered"`    // segments
	DeliveredCE   uint64 `json:"delivered_ce"` // of Delivered, those whose ACK had ECN-Echo
	SegsIn        uint64 `json:"segs_in"`      // all segments, modulo 2^32
	SegsOut       uint64 `json:"segs_out"`
	DataSegsIn    uint64 `json:"data_segs_in"` // data segments
	DataSegsOut   uint64 `json:"data_segs_out"`
	BytesSent     uint64 `json:"bytes_sent"` // payload bytes, retransmissions included
	BytesRetrans  uint64 `json:"bytes_retransmitted"`
	BytesAcked    uint64 `json:"bytes_acked"`
	BytesReceived uint64 `json:"bytes_received"` // bytes that became readable
	NotSent       uint64 `json:"notsent_bytes"`  // written bytes never sent
	DSACKDups     uint64 `json:"dsack_dups"`     // DSACKs received
}

// RateInfo says how fast the connection sent, and what limited it.
type RateInfo struct {
	// DeliveryRate is the rate at which data was last delivered, bits/s of payload; 0 if unknown.
	// DeliveryRateAppLimited says that the application had no more to send then.
	DeliveryRate           uint64 `json:"delivery_rate_bps"`
	DeliveryRateAppLimited bool   `json:"delivery_rate_app_limited"`

	// BusyTime is how long data was unsent or unacknowledged. RwndLimited and SndbufLimited are the
	// parts of it during which the peer's window, and the send buffer, limited the sender.
	BusyTime      time.Duration `json:"busy_time_s"`
	RwndLimited   time.Duration `json:"rwnd_limited_s"`
	SndbufLimited time.Duration `json:"sndbuf_limited_s"`
}

// SizeInfo has segment sizes and windows, bytes.
type SizeInfo struct {
	SndMSS    uint32 `json:"snd_mss"`
	RcvMSS    uint32 `json:"rcv_mss"` // as seen in the peer's segments
	AdvMSS    uint32 `json:"advmss"`  // as announced in our SYN
	PMTU      uint32 `json:"pmtu"`
	SndWnd    uint32 `json:"snd_wnd"` // scaled
	RcvWnd    uint32 `json:"rcv_wnd"`
	RcvSpace  uint32 `json:"rcv_space"` // the receive buffer
	SndWScale uint8  `json:"snd_wscale"`
	RcvWScale uint8  `json:"rcv_wscale"`
}

// MarshalJSON returns the fields, with durations in seconds.
func (i Info) MarshalJSON() ([]byte, error) {
	type fields Info // without this method
	return json.Marshal(struct {
		fields
		RTO           float64 `json:"rto_s"`
		SRTT          float64 `json:"srtt_s"`
		RTTVar        float64 `json:"rttvar_s"`
		MinRTT        float64 `json:"min_rtt_s"`
		ATO           float64 `json:"ato_s"`
		RcvRTT        float64 `json:"rcv_rtt_s"`
		ReoWnd        float64 `json:"reo_wnd_s"`
		BusyTime      float64 `json:"busy_time_s"`
		RwndLimited   float64 `json:"rwnd_limited_s"`
		SndbufLimited float64 `json:"sndbuf_limited_s"`
	}{fields(i), i.RTO.Seconds(), i.SRTT.Seconds(), i.RTTVar.Seconds(), i.MinRTT.Seconds(), i.ATO.Seconds(), i.RcvRTT.Seconds(),
		i.ReoWnd.Seconds(), i.BusyTime.Seconds(), i.RwndLimited.Seconds(), i.SndbufLimited.Seconds()})
}
