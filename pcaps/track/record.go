package track

import (
	"strconv"
	"time"

	"tcpwheel/wheel"
)

// EpisodeRecord is an Episode as a line of JSON, or of CSV with the same names. Spans are in seconds of the sender's clock; what is not
// known is left out. Packets are numbered within their file, from 1.
//
//	type                     "episode"
//	file, conn               the number of the connection within the file, from 0
//	src, dst                 of the flow that lost something
//	vantage                  sender, receiver, middle, both or unknown: where the capture was made
//	kind                     syn, rto, fast, tlp, probe or unknown: what made the first retransmission leave
//	ambiguous                true if other timers than those that fit best would make it another kind
//	spurious, evidence       yes, no or unknown, of the first retransmission; and timing, dupack, eifel, capture or dsack
//	seq, octets              what was retransmitted first
//	first, first_packet      its first transmission
//	sent                     the transmission before the first retransmission, where it is another one than the first
//	estimated                true if that was not captured: the time is when its absence was noticed
//	rexmit, rexmit_packet    the first retransmission, by the capture's clock
//	d_s                      from the transmission before to the first retransmission
//	a_s                      from there to the retransmission that arrived
//	p_s                      from there to the acknowledgement, ack_packet
//	t_rec_s                  the sum
//	episode_s                until all was acknowledged that was in flight, end_packet
//	rtt_s                    the median round trip of the 10 s before
//	excess_s                 t_rec_s - rtt_s
//	w                        d_s / rtt_s
//	ideal_s, timer_tax_s     what d_s might have been: a round trip and a quarter if later octets arrived, else SRTT + 4·RTTVAR; and d_s less that
//	inferable_s              from the ACK that told the sender to the acknowledgement, where one told it
//	hole_s                   how long octets behind the gap have waited for it at the point of capture
//	rexmits                  packets that were retransmitted in the episode; of those kept:
//	timeouts, probes         sent by the retransmission timer, and as probes of the tail
//	needless                 spurious
//	rexmit_packets           their numbers
type EpisodeRecord struct {
	Type      string `json:"type"`
	File      string `json:"file"`
	Conn      int    `json:"conn"`
	Src       string `json:"src"`
	Dst       string `json:"dst"`
	Vantage   string `json:"vantage"`
	Kind      string `json:"kind"`
	Ambiguous bool   `json:"ambiguous,omitempty"`
	Spurious  string `json:"spurious"`
	Evidence  string `json:"evidence,omitempty"`
	Seq       uint32 `json:"seq"`
	Bytes     int    `json:"bytes"`

	First                string `json:"first"`
	FirstPacket          int64  `json:"first_packet,omitempty"`
	Sent                 string `json:"sent,omitempty"`
	Estimated            bool   `json:"estimated,omitempty"`
	Retransmission       string `json:"retransmission"`
	RetransmissionPacket int64  `json:"retransmission_packet"`
	AckPacket            int64  `json:"ack_packet,omitempty"`
	EndPacket            int64  `json:"end_packet,omitempty"`

	D         float64  `json:"d_s"`
	A         *float64 `json:"a_s,omitempty"`
	P         *float64 `json:"p_s,omitempty"`
	TRec      *float64 `json:"t_rec_s,omitempty"`
	Length    *float64 `json:"episode_s,omitempty"`
	RTT       *float64 `json:"rtt_s,omitempty"`
	Excess    *float64 `json:"excess_s,omitempty"`
	W         *float64 `json:"w,omitempty"`
	Ideal     *float64 `json:"ideal_s,omitempty"`
	TimerTax  *float64 `json:"timer_tax_s,omitempty"`
	Inferable *float64 `json:"inferable_s,omitempty"`
	HoleTime  *float64 `json:"hole_s,omitempty"`

	Retransmissions       int     `json:"retransmissions"`
	Timeouts              int     `json:"timeouts"`
	Probes                int     `json:"probes"`
	SpuriousCount         int     `json:"spurious_retransmissions"`
	RetransmissionPackets []int64 `json:"retransmission_packets"`
}

// Record returns the episode e of f.
func (f *Flow) Record(file string, e *Episode) EpisodeRecord {
	r := EpisodeRecord{
		Type: "episode", File: file, Conn: f.conn.ID, Src: f.Src.String(), Dst: f.Dst.String(), Vantage: f.Vantage.String(),
		Kind: e.Kind.String(), Ambiguous: e.Ambiguous, Spurious: e.Spurious.String(), Evidence: e.Evidence.String(),
		Seq: uint32(e.Seq), Bytes: e.Bytes,
		First: stampText(e.FirstSent), FirstPacket: e.FirstPacket, Estimated: e.Estimated,
		Retransmission: stampText(e.Seen), RetransmissionPacket: e.DetectedPacket, AckPacket: e.AckedPacket, EndPacket: e.EndedPacket,
		D: e.D.Seconds(), Retransmissions: e.Total, Timeouts: e.Timeouts, Probes: e.Probes, SpuriousCount: e.SpuriousCount,
	}
	if e.PrevSent != e.FirstSent {
		r.Sent = stampText(e.PrevSent)
	}
	if e.Repaired {
		r.A, r.P, r.TRec = seconds(e.A), seconds(e.P), seconds(e.TRec)
		if e.HasInferable {
			r.Inferable = seconds(span(e.Inferable, e.Acked))
		}
	}
	if e.Closed {
		r.Length = seconds(e.Length)
	}
	if e.RTT > 0 {
		r.RTT = seconds(e.RTT)
		w := e.D.Seconds() / e.RTT.Seconds()
		r.W = &w
		if e.Repaired {
			r.Excess = seconds(e.Excess)
		}
	}
	if e.HasIdealD {
		r.Ideal, r.TimerTax = seconds(e.IdealD), seconds(e.TimerTax)
	}
	if e.Estimated {
		r.HoleTime = seconds(e.HoleTime)
	}
	for i := range e.Retransmissions {
		r.RetransmissionPackets = append(r.RetransmissionPackets, e.Retransmissions[i].Packet)
	}
	return r
}

// ConnRecord is a Conn as a line of JSON.
//
//	type                          "connection"
//	file, conn                    its number within the file, from 0
//	path                          VLANs and tunnels around it, as a hash; left out if there are none
//	first, last, duration_s       its packets
//	first_packet, packets
//	end                           open, closed, reset, replaced (by another between the same ends) or evicted (to bound memory)
//	handshake_s                   from the SYN to the ACK, where all three were seen
//	copies                        packets that were captured more than once
//	clock_steps                   stamps that went back
//	strays                        packets of a connection before between the same ends, one of which still knew of it
//	bad_checksums                 packets with a wrong checksum, which were not looked at
//	bad_checksums_used            those that were, as too many are wrong for damage: the addresses were changed in the file, say
//	evidence                      what tells where the capture was made; a is the first flow's src, b its dst
//	flows                         FlowRecord, two
type ConnRecord struct {
	Type             string        `json:"type"`
	File             string        `json:"file"`
	Conn             int           `json:"conn"`
	Path             string        `json:"path,omitempty"`
	First            string        `json:"first"`
	Last             string        `json:"last"`
	Duration         float64       `json:"duration_s"`
	FirstPacket      int64         `json:"first_packet"`
	Packets          int64         `json:"packets"`
	End              string        `json:"end"`
	Handshake        *float64      `json:"handshake_s,omitempty"`
	Copies           int64         `json:"copies,omitempty"`
	ClockSteps       int           `json:"clock_steps,omitempty"`
	Strays           int64         `json:"strays,omitempty"`
	BadChecksums     int64         `json:"bad_checksums,omitempty"`
	BadChecksumsUsed int64         `json:"bad_checksums_used,omitempty"`
	Evidence         []string      `json:"evidence,omitempty"`
	Flows            [2]FlowRecord `json:"flows"`
}

// FlowRecord is one direction of a ConnRecord: what src sent, and what dst said of it.
//
//	src, dst, vantage
//	packets, data_packets, octets   all; with payload; of payload, each once
//	mss, window_scale, sack, timestamps
//	                                what src has offered in its SYN; left out if that was not seen
//	rtt                             samples, and min_s, mean_s, max_s, deviation_s of the round trip from src to dst
//	episodes                        how many, by kind
//	rexmits, spurious               retransmitted packets, and how many of those kept were spurious
//	reordered                       segments that overtook others, or were overtaken
//	unseen                          octets that were acknowledged and never captured
//	stale                           packets that dst drops because of their timestamp
//	dup_acks, dsacks, duplicates    ACKs from dst; reports of duplicates, and those that no retransmission accounts for
//	keepalives, window_probes
//	zero_windows, stalled_s         ACKs that closed the window, and for how long it was closed
//	delayed_acks                    count, median_s, max_s, and timer: fixed, heartbeat or adaptive
//	timers                          best, runner_up: the stacks whose timers explain best when src's expired, none if no stack's do;
//	                                gaps: how many times that was; margin: how much likelier the best is, as a natural logarithm;
//	                                fit: that of the density of a gap, in 1/ms; syns: linear or doubling, if SYNs that were sent again
//	                                tell it (SYNLinear, SYNDoubling)
type FlowRecord struct {
	Src     string `json:"src"`
	Dst     string `json:"dst"`
	Vantage string `json:"vantage"`

	Packets     int64 `json:"packets"`
	DataPackets int64 `json:"data_packets"`
	Bytes       int64 `json:"bytes"`

	MSS        *uint16 `json:"mss,omitempty"`
	WScale     *uint8  `json:"window_scale,omitempty"`
	SACK       *bool   `json:"sack,omitempty"`
	Timestamps *bool   `json:"timestamps,omitempty"`

	RTT             *RTTRecord     `json:"rtt,omitempty"`
	Episodes        map[string]int `json:"episodes,omitempty"`
	Retransmissions int64          `json:"retransmissions"`
	Spurious        int            `json:"spurious_retransmissions"`
	Reordered       int64          `json:"reordered,omitempty"`
	UnseenBytes     int64          `json:"unseen_bytes,omitempty"`
	Stale           int64          `json:"stale,omitempty"`
	DupACKs         int64          `json:"dup_acks,omitempty"`
	DSACKs          int64          `json:"dsacks,omitempty"`
	Duplicates      int64          `json:"duplicates,omitempty"`
	Keepalives      int64          `json:"keepalives,omitempty"`
	WindowProbes    int64          `json:"window_probes,omitempty"`
	ZeroWindows     int64          `json:"zero_windows,omitempty"`
	ZeroWindowTime  float64        `json:"zero_window_s,omitempty"`
	Delayed         *DelayedRecord `json:"delayed_acks,omitempty"`
	Timers          *FitRecord     `json:"timers,omitempty"`
}

// RTTRecord is RTT in FlowRecord.
type RTTRecord struct {
	Samples   int64   `json:"samples"`
	Min       float64 `json:"min_s"`
	Mean      float64 `json:"mean_s"`
	Max       float64 `json:"max_s"`
	Deviation float64 `json:"deviation_s"`
}

// DelayedRecord is DelayedACKs in FlowRecord.
type DelayedRecord struct {
	Count  int64   `json:"count"`
	Median float64 `json:"median_s"`
	Max    float64 `json:"max_s"`
	Timer  string  `json:"timer,omitempty"`
}

// FitRecord is Fit in FlowRecord.
type FitRecord struct {
	Best     string  `json:"best,omitempty"`
	RunnerUp string  `json:"runner_up,omitempty"`
	Gaps     int     `json:"gaps"`
	Margin   float64 `json:"margin,omitempty"`
	PerGap   float64 `json:"fit"`
	SYNs     string  `json:"syns,omitempty"`
}

// Record returns the connection, without its episodes.
func (c *Conn) Record(file string) ConnRecord {
	r := ConnRecord{
		Type: "connection", File: file, Conn: c.ID, First: stampText(c.First), Last: stampText(c.Last), Duration: span(c.First, c.Last).Seconds(),
		FirstPacket: c.FirstPacket, Packets: c.Packets, End: c.End.String(), Copies: c.Copies, ClockSteps: c.ClockSteps, Strays: c.Strays,
		BadChecksums: c.BadChecksums, BadChecksumsUsed: c.BadChecksumsUsed, Evidence: c.Flows[0].VantageEvidence,
	}
	if c.Path != 0 {
		r.Path = strconv.FormatUint(c.Path, 16)
	}
	if c.Handshake.Complete {
		r.Handshake = seconds(c.Handshake.Time)
	}
	for i := range c.Flows {
		r.Flows[i] = c.Flows[i].record()
	}
	return r
}

func (f *Flow) record() FlowRecord {
	r := FlowRecord{
		Src: f.Src.String(), Dst: f.Dst.String(), Vantage: f.Vantage.String(), Packets: f.Packets, DataPackets: f.DataPackets, Bytes: f.Bytes,
		Retransmissions: f.Retransmissions, Reordered: f.Reordered, UnseenBytes: f.UnseenBytes, Stale: f.Stale, DupACKs: f.DupACKs, DSACKs: f.DSACKs,
		Duplicates: f.Duplicates, Keepalives: f.Keepalives, WindowProbes: f.WindowProbes, ZeroWindows: f.ZeroWindows, ZeroWindowTime: f.ZeroWindowTime.Seconds(),
	}
	if o := &f.SYN; f.HasSYN {
		if o.HasMSS {
			r.MSS = &o.MSS
		}
		if o.HasWScale {
			r.WScale = &o.WScale
		}
		r.SACK, r.Timestamps = &o.SACKPermitted, &o.HasTimestamps
	}
	if t := &f.RTT; t.Samples > 0 {
		r.RTT = &RTTRecord{t.Samples, t.Min.Seconds(), t.Mean.Seconds(), t.Max.Seconds(), t.Deviation.Seconds()}
	}
	for _, e := range f.Episodes {
		if r.Episodes == nil {
			r.Episodes = map[string]int{}
		}
		r.Episodes[e.Kind.String()]++
		r.Spurious += e.SpuriousCount
	}
	if d := &f.Delayed; d.Count > 0 {
		r.Delayed = &DelayedRecord{d.Count, d.Median.Seconds(), d.Max.Seconds(), d.Timer}
	}
	if t := &f.Timers; t.Gaps > 0 {
		r.Timers = &FitRecord{t.Best, t.RunnerUp, t.Gaps, t.Margin, t.PerGap, t.SYNs.String()}
	}
	return r
}

// stampText returns a time in UTC, to the nanosecond, with as many digits as there are.
func stampText(t wheel.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
