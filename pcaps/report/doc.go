// Package report writes HTML pages about captures and replays, and comments for annotated copies.
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
// Fill in a Replays and call its Write for a page about replays.
//
// # Pages
//
// A page is one HTML file that loads nothing; its Content-Security-Policy forbids loading. It reads
// well on a phone, on paper, in light and dark. Package htmlpage draws the diagrams as SVG, because
// plotting libraries fix colours, sizes and fonts, and give no titles for the packet under the
// pointer. Each diagram comes with its data.
//
// Text from files is escaped. The same captures give the same bytes.
//
// The page about captures opens with the two sentences of track.Losses, the losses on a time line,
// and the distribution of recovery times. The page about replays opens with what each policy saves.
// Times count from the first packet of the file, as in Wireshark. Diagrams of a
// connection leave out idle times, and say how long they were; their data has true times.
//
// # Bounds
//
// Limits bound memory and page, however large the capture is. The page draws the connections that
// lost the most time, magnifies the longest episodes, lists the costliest, and says
// what it leaves out. Where a flow has more marks than Limits allow, marks between losses are
// merged; retransmissions are not.
//
// # Concurrency
//
// No type is safe for concurrent use.
//
// # References
//
//   - S. Ostermann: tcptrace and xplot, whose time-sequence diagrams these follow.
package report
