package track

import (
	"strconv"
	"time"

	"tcpwheel/wheel"
)

// EpisodeRecord is an Episode as a JSON or CSV record. Durations are in seconds of the sender's
// clock. Unknown values are omitted. Packets are numbered in their file from 1.
//
//	type                     "episode"
//	file, conn               number of the connection in the file, from 0
//	src, dst                 of the flow with the loss
//	vantage                  point of capture: sender, receiver, middle, both or unknown
//	kind                     cause of the first retransmission: syn, rto, fast, tlp, probe, mtu or unknown
//	ambiguous                true if other timer models give another kind
//	spurious, evidence       of the first retransmission: yes, no or unknown; and timing, dupack,
//	                         eifel, capture or dsack
//	seq, bytes               the bytes retransmitted first
//	first, first_packet      their first transmission
//	sent                     their transmission before the first retransmission, if another one
//	estimated                true if that was not captured: the time is when its absence was noticed
//	retransmission, retransmission_packet
//	                         the first retransmission, by the capture's clock
//	at_s                     its time since packet 1 of the file, as Wireshark counts
//	d_s                      detection: from sent to retransmission
//	a_s                      attempts: from there to the retransmission that arrived
//	p_s                      proof: from there to its acknowledgement, ack_packet
//	t_rec_s                  recovery time: d_s + a_s + p_s
//	episode_s                from sent until all that was in flight is acknowledged, end_packet
//	unmeasured               why the end of the repair cannot be measured: echo, silence or no-acks
//	time_lost_s              how long the receiver's application got nothing that the path could have
//	                         brought, in losses that were needed and repaired; time counts once in
//	                         a connection
//	timer_wait_s             the part that the sender waited for its timers
//	unrepaired_s             how long data waited that was still missing at the end
//	rtt_s                    median RTT of the 10 s before
//	excess_s                 t_rec_s - rtt_s
//	w                        d_s / rtt_s
//	ideal_s                  what d_s could have been: 5/4 RTT if later bytes arrived, else
//	                         SRTT + 4·RTTVAR
//	timer_tax_s              d_s - ideal_s
//	inferable_s              from the ACK that proved the loss to the acknowledgement
//	hole_s                   how long later bytes waited at the point of capture
//	retransmissions          packets retransmitted in the episode; of those kept:
//	timeouts, probes         sent by the retransmission timer, and as tail loss probes
//	spurious_retransmissions
//	retransmission_packets   their numbers
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

	First                string  `json:"first"`
	FirstPacket          int64   `json:"first_packet,omitempty"`
	Sent                 string  `json:"sent,omitempty"`
	Estimated            bool    `json:"estimated,omitempty"`
	Retransmission       string  `json:"retransmission"`
	RetransmissionPacket int64   `json:"retransmission_packet"`
	At                   float64 `json:"at_s"`
	AckPacket            int64   `json:"ack_packet,omitempty"`
	EndPacket            int64   `json:"end_packet,omitempty"`

	D         float64  `json:"d_s"`
	A         *float64 `json:"a_s,omitempty"`
	P         *float64 `json:"p_s,omitempty"`
	TRec      *float64 `json:"t_rec_s,omitempty"`
	Length    *float64 `json:"episode_s,omitempty"`
	TimeLost  float64  `json:"time_lost_s"`
	TimerWait float64  `json:"timer_wait_s"`
	Open      float64  `json:"unrepaired_s,omitempty"`
	Gap       string   `json:"unmeasured,omitempty"`
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

// Record returns e, an episode of f, as a record.
func (f *Flow) Record(file string, e *Episode) EpisodeRecord {
	r := EpisodeRecord{
		Type: "episode", File: file, Conn: f.conn.ID, Src: f.Src.String(), Dst: f.Dst.String(), Vantage: f.Vantage.String(),
		Kind: e.Kind.String(), Ambiguous: e.Ambiguous, Spurious: e.Spurious.String(), Evidence: e.Evidence.String(),
		Seq: uint32(e.Seq), Bytes: e.Bytes,
		First: stampText(e.FirstSent), FirstPacket: e.FirstPacket, Estimated: e.Estimated,
		Retransmission: stampText(e.Seen), At: e.Seen.Sub(f.conn.Origin).Seconds(), RetransmissionPacket: e.DetectedPacket, AckPacket: e.AckedPacket, EndPacket: e.EndedPacket,
		D: e.D.Seconds(), TimeLost: e.TimeLost.Seconds(), TimerWait: e.TimerWait.Seconds(), Open: e.Unrepaired.Seconds(), Gap: e.Gap.String(), Retransmissions: e.Total, Timeouts: e.Timeouts, Probes: e.Probes, SpuriousCount: e.SpuriousCount,
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

// ConnRecord is a Conn as a JSON record.
//
//	type                          "connection"
//	file, conn                    number in the file, from 0
//	path                          hash of the VLANs and tunnels around it, if any
//	first, last, duration_s       of its packets
//	first_packet, packets
//	end                           open, closed, reset, replaced (by another between the same ends)
//	                              or evicted (to bound memory)
//	outcome                       established; begun (before the capture); or never established:
//	                              refused, unreachable or unanswered
//	unreachable_by                sender of the ICMP error, if unreachable
//	time_lost_s, timer_wait_s     sums over both flows
//	handshake_s                   from SYN to ACK, if all three packets were seen
//	copies                        packets captured more than once
//	clock_steps                   capture times that went back
//	strays                        packets of an earlier connection between the same ends
//	bad_checksums                 packets dropped because a wrong checksum shows damage
//	bad_checksums_used            packets used although their checksum is wrong: so many are that it
//	                              proves nothing
//	evidence                      basis of vantage; a is the first flow's src, b its dst
//	flows                         two FlowRecords
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
	Outcome          string        `json:"outcome"`
	UnreachableBy    string        `json:"unreachable_by,omitempty"`
	TwinOf           *int          `json:"twin_of,omitempty"` // a connection: see Conn.TwinOf
	TimeLost         float64       `json:"time_lost_s,omitempty"`
	TimerWait        float64       `json:"timer_wait_s,omitempty"`
	Handshake        *float64      `json:"handshake_s,omitempty"`
	Copies           int64         `json:"copies,omitempty"`
	ClockSteps       int           `json:"clock_steps,omitempty"`
	Strays           int64         `json:"strays,omitempty"`
	BadChecksums     int64         `json:"bad_checksums,omitempty"`
	BadChecksumsUsed int64         `json:"bad_checksums_used,omitempty"`
	Evidence         []string      `json:"evidence,omitempty"`
	Flows            [2]FlowRecord `json:"flows"`
}

// FlowRecord is one direction of a ConnRecord: what src sent and how dst answered.
//
//	src, dst, vantage
//	packets, data_packets, bytesall; with payload; of payload, each counted once
//	mss, window_scale, sack, timestamps
//	                            offered in src's SYN; omitted if that was not seen
//	rtt                         from src to dst and back: samples, min_s, mean_s, max_s, deviation_s
//	episodes                    number by kind
//	retransmissions             packets
//	spurious_retransmissions    of those kept
//	time_lost_s, timer_wait_s   sums over the episodes
//	reordered                   segments out of order
//	unseen_bytes                acknowledged and never captured
//	lacking                     packets of src that the capture lacks, at least: by IP identifications,
//	                            unseen_bytes, and echoes of timestamps that were never captured
//	stale                       packets that dst drops because of their timestamp
//	dup_acks, dsacks            sent by dst
//	duplicates                  DSACKs that no retransmission explains
//	keepalives, window_probes
//	zero_windows, zero_window_s ACKs that closed the window; how long it was closed
//	delayed_acks                count, median_s, max_s, and timer: fixed, heartbeat or adaptive
//	timers                      best, runner_up: the stacks whose timers best explain src's
//	                            expiries, omitted if none do; gaps: number of expiries; margin: log
//	                            likelihood of best less that of runner_up; fit: log density of a gap
//	                            per ms; syns: linear or doubling, if retransmitted SYNs show it
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
	TimeLost        float64        `json:"time_lost_s,omitempty"`
	TimerWait       float64        `json:"timer_wait_s,omitempty"`
	Reordered       int64          `json:"reordered,omitempty"`
	UnseenBytes     int64          `json:"unseen_bytes,omitempty"`
	Lacking         int64          `json:"lacking,omitempty"`
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

// RTTRecord is Flow.RTT in a FlowRecord.
type RTTRecord struct {
	Samples   int64   `json:"samples"`
	Min       float64 `json:"min_s"`
	Mean      float64 `json:"mean_s"`
	Max       float64 `json:"max_s"`
	Deviation float64 `json:"deviation_s"`
}

// DelayedRecord is Flow.Delayed in a FlowRecord.
type DelayedRecord struct {
	Count  int64   `json:"count"`
	Median float64 `json:"median_s"`
	Max    float64 `json:"max_s"`
	Timer  string  `json:"timer,omitempty"`
}

// FitRecord is Flow.Timers in a FlowRecord.
type FitRecord struct {
	Best     string  `json:"best,omitempty"`
	RunnerUp string  `json:"runner_up,omitempty"`
	Gaps     int     `json:"gaps"`
	Margin   float64 `json:"margin,omitempty"`
	PerGap   float64 `json:"fit"`
	SYNs     string  `json:"syns,omitempty"`
}

// Record returns the connection without its episodes.
func (c *Conn) Record(file string) ConnRecord {
	r := ConnRecord{
		Type: "connection", File: file, Conn: c.ID, First: stampText(c.First), Last: stampText(c.Last), Duration: span(c.First, c.Last).Seconds(),
		FirstPacket: c.FirstPacket, Packets: c.Packets, End: c.End.String(), Outcome: c.Outcome.String(), Copies: c.Copies, ClockSteps: c.ClockSteps, Strays: c.Strays,
		BadChecksums: c.BadChecksums, BadChecksumsUsed: c.BadChecksumsUsed, Evidence: c.VantageEvidence(),
	}
	if c.UnreachableBy.IsValid() {
		r.UnreachableBy = c.UnreachableBy.String()
	}
	if c.Twin {
		r.TwinOf = &c.TwinOf
	}
	if c.Path != 0 {
		r.Path = strconv.FormatUint(c.Path, 16)
	}
	if c.Handshake.Complete {
		r.Handshake = seconds(c.Handshake.Time)
	}
	lost, timers := c.TimeLost()
	r.TimeLost, r.TimerWait = lost.Seconds(), timers.Seconds()
	for i := range c.Flows {
		r.Flows[i] = c.Flows[i].record()
	}
	return r
}

func (f *Flow) record() FlowRecord {
	r := FlowRecord{
		Src: f.Src.String(), Dst: f.Dst.String(), Vantage: f.Vantage.String(), Packets: f.Packets, DataPackets: f.DataPackets, Bytes: f.Bytes,
		Retransmissions: f.Retransmissions, TimeLost: f.TimeLost.Seconds(), TimerWait: f.TimerWait.Seconds(), Reordered: f.Reordered,
		UnseenBytes: f.UnseenBytes, Lacking: f.Lacking(), Stale: f.Stale, DupACKs: f.DupACKs, DSACKs: f.DSACKs,
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
	if t := f.Timers(); t.Gaps > 0 {
		r.Timers = &FitRecord{t.Best, t.RunnerUp, t.Gaps, t.Margin, t.PerGap, t.SYNs.String()}
	}
	return r
}

// stampText returns t in UTC with up to nine decimals.
func stampText(t wheel.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
