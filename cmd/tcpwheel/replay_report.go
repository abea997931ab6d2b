package main

import (
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/wheel"
)

// writeHTML writes the page of what was replayed.
func (r *replaying) writeHTML() error {
	page := pages.Replays{
		Choices: r.study.Choices, Results: r.results, Conns: r.conns, Lossy: r.lossy,
		First: func(x *replay.Result) wheel.Time { return r.first[x] },
	}
	for _, x := range r.refusals {
		page.Refusals = append(page.Refusals, pages.Refusal{File: x.file, Conn: x.conn, Reason: x.reason})
	}
	return writeWhole(r.html, page.Write)
}
