// Package report makes pages of what captures tell, and of replays, and comments for annotated copies.
//
// # Usage
//
//	page := report.NewPage(report.Limits{})
//	section := page.Begin("lossy.pcapng")
//	t := track.New(track.Config{Event: section.Event, Done: func(c *track.Conn) { section.Add(c, nil) }})
//	for … { t.Add(&packet) }
//	t.Close()
//	section.End(report.Facts{…})
//	err := page.Write(w)
//
// Pages of replays, of open loops and of validations are the Write of a Replays, a Wires or a Validations that is filled in.
//
// # What a page is
//
// One HTML file that needs nothing else: no network, font, style or script from elsewhere, which its Content-Security-Policy
// forbids besides. It reads well on a phone, on paper, in light and dark. Diagrams are SVG, drawn here and not by a plotting library:
// theirs have their colours, sizes and fonts inside, so that neither a theme nor a narrow window can change them, and no
// titles that tell of the packet under the pointer. Each has its data beside it.
//
// What comes from files, names above all, is escaped. The same captures give the same octets.
//
// # Bounds
//
// Memory and page are bounded by Limits, and not by the capture: the connections that lost the most time are drawn, the
// longest episodes magnified, the tables hold the longest. What is left out is said. Where a flow has more marks than are kept, those
// between losses are merged; retransmissions are not.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
//
// # References
//
//   - S. Ostermann: tcptrace and xplot, whose time-sequence diagrams these follow.
package report
