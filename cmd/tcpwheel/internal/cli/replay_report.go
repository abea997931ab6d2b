package cli

import (
	"tcpwheel/pcaps/replay"
	pages "tcpwheel/pcaps/report"
	"tcpwheel/wheel"
)

// writeHTML writes the page of what was replayed.
func (r *replaying) writeHTML() error {
	page := r.page()
	return writeFile(r.stderr, r.html, page.Write)
}

func (r *replaying) page() pages.Replays {
	return pages.Replays{
		Choices: r.study.Choices, Results: r.results, Conns: r.conns, Lossy: r.lossy, First: r.firstOf, Refusals: r.pageRefusals(),
	}
}

// pageRefusals returns what is not replayed, for a page.
func (r *replaying) pageRefusals() (all []pages.Refusal) {
	for _, x := range r.refusals {
		all = append(all, pages.Refusal{File: x.File, Conn: x.Client + " > " + x.Server, Reason: x.reason})
	}
	return all
}

// firstOf returns when the first packet was captured of the file that a connection is from.
func (r *replaying) firstOf(x *replay.Result) wheel.Time { return r.first[x.File] }
