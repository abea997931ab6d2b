package track

import (
	"strconv"

	"tcpwheel/internal/record"
)

// ConnRecord is a Conn as a record.
type ConnRecord struct {
	Type             string        `json:"type"` // "connection"
	File             string        `json:"file"`
	Conn             int           `json:"conn" help:"number in the file, from 0"`
	Path             string        `json:"path,omitempty" help:"hash of the VLANs and tunnels around it, if any"`
	First            string        `json:"first" help:"stamp of the first packet"`
	Last             string        `json:"last" help:"stamp of the last packet"`
	Duration         float64       `json:"duration_s" help:"from first to last"`
	FirstPacket      int64         `json:"first_packet"`
	Packets          int64         `json:"packets" help:"of both directions"`
	End              string        `json:"end" help:"open, closed, reset, replaced (by another between the same ends) or evicted (to bound memory)"`
	Outcome          string        `json:"outcome" help:"established, begun (before the capture), refused, unreachable, unanswered, or unheard: the server never saw the client's data"`
	SYNACKsRepeated  int           `json:"synacks_repeated,omitempty" help:"SYN-ACKs after the client's ACK, if unheard"`
	ResetBy          string        `json:"reset_by,omitempty" help:"the end that sent the first RST"`
	UnreachableBy    string        `json:"unreachable_by,omitempty" help:"sender of the ICMP error, if unreachable"`
	TwinOf           *int          `json:"twin_of,omitempty" help:"this connection, captured where its addresses are others"`
	Unordered        bool          `json:"unordered,omitempty" help:"packets stand behind later ones: no retransmission is reported"`
	TimeLost         float64       `json:"time_lost_s,omitempty" help:"of both flows together"`
	TimerWait        float64       `json:"timer_wait_s,omitempty" help:"of both flows together"`
	Handshake        *float64      `json:"handshake_s,omitempty" help:"from SYN to ACK, if all three packets were seen"`
	Copies           int64         `json:"copies,omitempty" help:"packets captured more than once"`
	ClockSteps       int           `json:"clock_steps,omitempty" help:"capture times that went back"`
	Strays           int64         `json:"strays,omitempty" help:"packets of an earlier connection between the same ends"`
	BadChecksums     int64         `json:"bad_checksums,omitempty" help:"packets dropped for their checksum"`
	BadChecksumsUsed int64         `json:"bad_checksums_used,omitempty" help:"packets used although their checksum is wrong, as many are"`
	Evidence         []string      `json:"evidence,omitempty" help:"basis of vantage: a is the first flow's src, b its dst"`
	Flows            [2]FlowRecord `json:"flows"`
}

// FlowRecord is one direction of a ConnRecord: what src sent and how dst answered.
type FlowRecord struct {
	Src     string `json:"src"`
	Dst     string `json:"dst"`
	Vantage string `json:"vantage" help:"point of capture, seen from src"`

	Packets     int64 `json:"packets" help:"sent by src"`
	DataPackets int64 `json:"data_packets" help:"of these, with payload"`
	Bytes       int64 `json:"bytes" help:"of payload, each counted once"`

	MSS        *uint16 `json:"mss,omitempty" help:"offered in src's SYN, as the next three"`
	WScale     *uint8  `json:"window_scale,omitempty"`
	SACK       *bool   `json:"sack,omitempty"`
	Timestamps *bool   `json:"timestamps,omitempty"`

	RTT             *RTT         `json:"rtt,omitempty"`
	Episodes        map[Kind]int `json:"episodes,omitempty" help:"loss episodes of a kind"`
	Retransmissions int64        `json:"retransmissions" help:"packets"`
	Spurious        int          `json:"spurious_retransmissions" help:"of those kept, unnecessary"`
	TimeLost        float64      `json:"time_lost_s,omitempty" help:"in episodes"`
	TimerWait       float64      `json:"timer_wait_s,omitempty" help:"in episodes"`
	Never           int          `json:"never_repaired,omitempty" help:"episodes whose data was still missing at the end"`
	Open            float64      `json:"unrepaired_s,omitempty" help:"how long that data waited; no part of time_lost_s"`
	Gaps            map[Gap]int  `json:"unmeasured,omitempty" help:"episodes whose end the capture lacks, by what shows it"`
	Reordered       int64        `json:"reordered,omitempty" help:"segments out of order"`
	UnseenBytes     int64        `json:"unseen_bytes,omitempty" help:"acknowledged and never captured"`
	Lacking         int64        `json:"lacking,omitempty" help:"packets of src that the capture lacks, at least"`
	Stale           int64        `json:"stale,omitempty" help:"packets that dst drops because of their timestamp"`
	DupACKs         int64        `json:"dup_acks,omitempty" help:"sent by dst"`
	DSACKs          int64        `json:"dsacks,omitempty" help:"sent by dst"`
	Duplicates      int64        `json:"duplicates,omitempty" help:"DSACKs that no retransmission explains"`
	Keepalives      int64        `json:"keepalives,omitempty"`
	WindowProbes    int64        `json:"window_probes,omitempty"`
	ZeroWindows     int64        `json:"zero_windows,omitempty" help:"ACKs that closed the window"`
	ZeroWindowTime  float64      `json:"zero_window_s,omitempty" help:"how long it was closed"`
	Delayed         *DelayedACKs `json:"delayed_acks,omitempty"`
	Timers          *Fit         `json:"timers,omitempty"`
}

// Record returns the connection without its episodes.
func (c *Conn) Record(file string) ConnRecord {
	r := ConnRecord{
		Type: "connection", File: file, Conn: c.ID, First: record.Stamp(c.First), Last: record.Stamp(c.Last), Duration: span(c.First, c.Last).Seconds(),
		FirstPacket: c.FirstPacket, Packets: c.Packets, End: c.End.String(), Outcome: c.Outcome.String(), Unordered: c.Unordered, Copies: c.Copies, ClockSteps: c.ClockSteps, Strays: c.Strays,
		BadChecksums: c.BadChecksums, BadChecksumsUsed: c.BadChecksumsUsed, Evidence: c.VantageEvidence(),
	}
	r.SYNACKsRepeated = c.SYNACKsRepeated
	if c.ResetBy.IsValid() {
		r.ResetBy = c.ResetBy.String()
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
		r.Handshake = record.Seconds(c.Handshake.Time)
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
	if t := &f.RTT; t.Samples > 0 && f.MeasuresRTT() {
		r.RTT = t
	}
	for _, e := range f.Episodes {
		if r.Episodes == nil {
			r.Episodes = map[Kind]int{}
		}
		r.Episodes[e.Kind]++
		r.Spurious += e.SpuriousCount
		switch {
		case e.Gap != NoGap:
			if r.Gaps == nil {
				r.Gaps = map[Gap]int{}
			}
			r.Gaps[e.Gap]++
		case e.Unrepaired > 0:
			r.Never++
			r.Open += e.Unrepaired.Seconds()
		}
	}
	if d := &f.Delayed; d.Count > 0 {
		r.Delayed = d
	}
	if t := f.Timers(); t.Gaps > 0 {
		r.Timers = &t
	}
	return r
}

// LossesRecord is Losses as a part of a record.
type LossesRecord struct {
	Stalls   int             `json:"stalls" help:"episodes with time lost"`
	Lost     float64         `json:"time_lost_s" help:"in them"`
	Waited   float64         `json:"timer_wait_s" help:"the part that senders waited for timers"`
	Outcomes map[Outcome]int `json:"outcomes,omitempty" help:"connections by outcome"`
	Never    int             `json:"never_repaired,omitempty" help:"episodes whose data was still missing at the end"`
	Open     float64         `json:"unrepaired_s,omitempty" help:"how long that data waited; no part of time_lost_s"`
	Gaps     map[Gap]int     `json:"unmeasured,omitempty" help:"episodes whose end the capture lacks, by what shows it"`
	Clients  CompleteRecord  `json:"clients"`
	Servers  CompleteRecord  `json:"servers"`
}

// CompleteRecord is how complete the capture is in a direction, in a LossesRecord.
type CompleteRecord struct {
	Captured int64 `json:"captured" help:"packets of these ends in the capture, without copies"`
	Lacking  int64 `json:"lacking" help:"packets of these ends that the capture lacks, at least"`
}

// Record returns the sums as a part of a record.
func (l *Losses) Record() LossesRecord {
	r := LossesRecord{
		Stalls: l.Stalls, Lost: l.TimeLost.Seconds(), Waited: l.TimerWait.Seconds(), Never: l.NeverRepaired, Open: l.Unrepaired.Seconds(),
		Outcomes: map[Outcome]int{}, Gaps: map[Gap]int{},
		Clients: CompleteRecord{l.Captured[0], l.Lacking[0]}, Servers: CompleteRecord{l.Captured[1], l.Lacking[1]},
	}
	for o, n := range l.Outcomes {
		if n > 0 {
			r.Outcomes[Outcome(o)] = n
		}
	}
	for g, n := range l.Unmeasured {
		if n > 0 {
			r.Gaps[Gap(g)] = n
		}
	}
	return r
}
