package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/corpus"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// The tables of replay --parquet.
var (
	replayTable   = corpus.NewTable[replayRow]("replays")
	recoveryTable = corpus.NewTable[replayRecord]("recoveries")
)

// replayRow is a row of the table replays: a capture that was replayed.
type replayRow struct {
	File        string `json:"file"`
	Packets     int64  `json:"packets" help:"of all kinds"`
	TCP         int64  `json:"tcp" help:"TCP segments"`
	Conns       int    `json:"connections" help:"of the capture"`
	Lossy       int    `json:"with_losses" help:"connections with losses"`
	Replayed    int    `json:"replayed" help:"of these"`
	NotReplayed int    `json:"not_replayed" help:"of these, with the first reason in reason"`
	Reason      string `json:"reason,omitempty"`
	Losses      int    `json:"losses" help:"of replayed connections"`
	Needed      int    `json:"needed" help:"of these, without spurious retransmissions"`
	Passed      int    `json:"through_gate" help:"of these, the ones that the oracle repairs as captured"`
	Cut         bool   `json:"cut_short" help:"the file is truncated; it is replayed up to there"`
	Error       string `json:"error,omitempty" help:"why the file, or the rest of it, could not be read"`
	track.LossesRecord
	objectFields
}

// tables replays the captures that the tables lack.
func (r *replaying) tables(cmd *cobra.Command, objects []corpus.Object) error {
	t := tableRun{f: &r.corpus, stdout: r.stdout, stderr: r.stderr, tables: []*corpus.Table{replayTable, recoveryTable}}
	return t.run(cmd, objects, func(o *corpus.Object, part *corpus.Part, p *corpus.Progress) (*capture.Stats, error) {
		one := *r
		one.progress, one.first = p, map[string]wheel.Time{}
		err := one.guarded(cmd, o)
		row := replayRow{File: o.Name, objectFields: objectFieldsOf(o, &one.stats), Cut: errors.Is(err, capture.ErrCutShort)}
		if row.Cut {
			err = nil
		}
		if err != nil {
			row.Error = err.Error()
		}
		row.Packets, row.TCP = one.stats.Packets, one.stats.TCP
		row.Conns, row.Lossy, row.Replayed, row.NotReplayed = one.conns, one.lossy, len(one.results), len(one.refusals)
		if len(one.refusals) > 0 {
			row.Reason = one.refusals[0].reason
		}
		g := replay.SummarizeGate(one.results)
		row.Losses, row.Needed, row.Passed = g.Losses, g.Needed, g.Passed
		row.LossesRecord = one.sums.Record()
		for rec := range one.records() {
			part.Add(recoveryTable, rec)
		}
		part.SetRow(row)
		return &one.stats, err
	})
}
