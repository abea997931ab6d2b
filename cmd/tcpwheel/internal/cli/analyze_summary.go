package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/capture"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// summary summarises one file. It keeps sums, durations for quantiles, and the episodes of the
// table.
type summary struct {
	a     *analysis
	file  string
	first wheel.Time

	stats   capture.Stats
	cut     bool
	err     string // why the file, or the rest of it, could not be read
	evicted int

	lossy           int
	seen            int // connections of the file, filtered ones too
	bytes           int64
	kinds           [track.Kinds]kindSums
	retransmissions int64
	spurious        int
	rows            []track.Episode
	limited         []limitedConn // that moved the most bytes, without a loss unless --details

	stalled   time.Duration
	near      map[string]int
	oneWay    int // lossy connections with one direction only
	losses    track.Losses
	explained []string // of the episode that --explain names
	hosts     track.Hosts
}

// kindSums are the sums of the episodes of a kind.
type kindSums struct {
	n, spurious, undecided int
	repairs                stat.Sample[recovery]
}

// recovery is what T_rec of a repaired episode consists of.
type recovery struct{ d, a, p, tRec time.Duration }

// maxRecoveries is how many of them are kept for the median, of each kind.
const maxRecoveries = 1 << 16

// median returns the recovery with the median T_rec, as in package stat. ok is false without any.
func (k *kindSums) median() (r recovery, ok bool) {
	all := k.repairs.Kept()
	if len(all) == 0 {
		return recovery{}, false
	}
	slices.SortFunc(all, func(x, y recovery) int { return cmp.Compare(x.tRec, y.tRec) })
	return all[stat.Rank(len(all), 0.5)], true
}

func newSummary(file string, a *analysis) *summary {
	return &summary{a: a, file: file, near: map[string]int{}}
}

// skips counts the connection, and reports whether the filter excludes it.
func (s *summary) skips(c *track.Conn) bool {
	s.seen++
	return !s.a.filter.hasConn(c, s.first)
}

// add adds a connection. It prints its lines of JSON.
func (s *summary) add(c *track.Conn) error {
	if err := s.printConn(c); err != nil {
		return err
	}
	s.count(c)
	lost := false
	for i := range c.Flows {
		f := &c.Flows[i]
		for _, e := range f.Episodes {
			if !s.a.filter.hasTime(e.Seen, s.first) {
				continue
			}
			lost = true
			if s.a.live != nil {
				continue // it was added when it settled
			}
			if err := s.episode(c, f, e); err != nil {
				return err
			}
		}
	}
	if !lost || s.a.details {
		s.limit(c)
	}
	if lost {
		s.lossy++
		if c.Flows[0].Packets == 0 || c.Flows[1].Packets == 0 {
			s.oneWay++
		}
	}
	return nil
}

// printConn prints the line of a connection, without its episodes.
func (s *summary) printConn(c *track.Conn) error {
	if s.a.live != nil || !s.a.asJSON {
		return nil
	}
	return s.a.enc.Encode(c.Record(s.file))
}

// count adds a connection to the sums, without its episodes.
func (s *summary) count(c *track.Conn) {
	s.losses.AddConn(c)
	if c.Twin {
		return
	}
	s.hosts.Add(c)
	switch c.Flows[0].Vantage {
	case track.AtSender, track.AtReceiver:
		s.near["a host"]++
	case track.AtBoth:
		s.near["both hosts"]++
	case track.InTheMiddle:
		s.near["between the hosts"]++
	default:
		s.near["unknown"]++
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		s.bytes += f.Bytes
		s.retransmissions += f.Retransmissions
		s.stalled += f.ZeroWindowTime
	}
}

func (s *summary) episode(c *track.Conn, f *track.Flow, e *track.Episode) error {
	s.spurious += e.SpuriousCount
	k := &s.kinds[e.Kind]
	k.n++
	s.losses.Add(e)
	if e.Repaired {
		k.repairs.Add(recovery{e.D, e.A, e.P, e.TRec}, maxRecoveries)
	}
	switch e.Spurious {
	case track.Spurious:
		k.spurious++
	case track.Undecided:
		k.undecided++
	}
	e.File = s.file
	if s.a.live != nil {
		if err := s.a.live.print(s.a, e); err != nil || s.a.asJSON {
			return err
		}
	}
	if s.a.asJSON {
		return s.a.enc.Encode(e)
	}
	if s.a.explain > 0 && slices.ContainsFunc(e.Retransmissions, func(r track.Retransmission) bool { return r.Packet == s.a.explain }) {
		s.explained = append([]string{fmt.Sprintf("connection %d, %v > %v, first retransmission packet %d", c.ID, f.Src, f.Dst, e.DetectedPacket)}, f.Explain(e)...)
	}
	s.rows = append(s.rows, *e)
	if !s.a.all && len(s.rows) >= 4*(s.a.top+64) {
		s.rows = pages.Longest(s.rows, s.a.top)
	}
	return nil
}

// fileRecord is the last line of JSON of a file.
type fileRecord struct {
	Type     string                   `json:"type"` // "file"
	File     string                   `json:"file"`
	Packets  int64                    `json:"packets" help:"of all kinds"`
	TCP      int64                    `json:"tcp" help:"TCP segments"`
	Skipped  map[capture.Reason]int64 `json:"skipped,omitempty" help:"packets that are not TCP segments, by reason"`
	Conns    int                      `json:"connections" help:"that pass the filter"`
	Lossy    int                      `json:"lossy" help:"of these, with an episode"`
	Episodes int                      `json:"episodes"`
	track.LossesRecord
	Evicted int    `json:"evicted,omitempty" help:"connections given up to bound memory"`
	LeftOut int    `json:"hosts_left_out,omitempty" help:"hosts without a record, to bound memory"`
	Cut     bool   `json:"cut_short,omitempty" help:"the file is truncated"`
	Error   string `json:"error,omitempty" help:"why the file, or the rest of it, could not be read"`
}

// write prints the rest of the output.
func (s *summary) write() error {
	if s.a.asJSON {
		for _, h := range s.hosts.List() {
			if err := s.a.enc.Encode(h.Record(s.file)); err != nil {
				return err
			}
		}
		return s.a.enc.Encode(s.record())
	}
	var b strings.Builder
	if s.a.live != nil && s.a.live.begun {
		b.WriteByte('\n')
	}
	s.print(&b)
	_, err := io.WriteString(s.a.stdout, b.String())
	return err
}

// record returns the record of the file.
func (s *summary) record() fileRecord {
	r := fileRecord{
		Type: "file", File: s.file, Packets: s.stats.Packets, TCP: s.stats.TCP, Conns: s.losses.Conns, Lossy: s.lossy, Episodes: s.losses.Episodes,
		LossesRecord: s.losses.Record(), Skipped: map[capture.Reason]int64{},
		Evicted: s.evicted, LeftOut: s.hosts.LeftOut, Cut: s.cut, Error: s.err,
	}
	for _, why := range capture.Reasons() {
		if n := s.stats.Skipped[why]; n > 0 {
			r.Skipped[why] = n
		}
	}
	return r
}
