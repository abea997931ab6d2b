package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/pcaps/htmlpage"
)

//go:embed page.css
var pageCSS string

// writePage writes a page.
func writePage(w io.Writer, title string, body ...g.Node) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := htmlpage.Page(title, CSS(), body...).Render(b); err != nil {
		return err
	}
	return b.Flush()
}

// cells returns the cells of spans, which are sorted by their values.
func cells(all ...cellView) g.Group {
	return g.Map(all, func(c cellView) g.Node {
		return h.Td(g.Attr("data-v", c.Value), g.If(c.Title != "", h.Title(c.Title)), g.Text(c.Text))
	})
}

// integer returns a cell of a number.
func integer[T int | int64](n T) g.Node { return h.Td(g.Text(strconv.FormatInt(int64(n), 10))) }

// ofFile returns a column, or a cell, of files where there are several.
func ofFile[T any](several bool, first T, others ...T) []T {
	if several {
		others = slices.Insert(others, 0, first)
	}
	return others
}

// newline keeps the lines of a page readable.
const newline = htmlpage.Markup("\n")

func (v sectionView) node() g.Node {
	return h.Section(h.ID(v.ID), newline,
		h.H2(g.Text(v.File)), newline,
		h.P(h.Class("answer"), g.Text(v.First), g.If(v.Second != "", g.Text(" "+v.Second))), newline,
		htmlpage.Softs(v.Notes),
		v.Stalls.node(),
		h.Div(h.Class("opening"), v.Recoveries.node(), h.Div(htmlpage.Facts(v.Facts))), newline,
		g.If(len(v.Kinds) > 0, g.Group{
			h.H3(g.Text("Losses, by the cause of the first retransmission")), newline,
			htmlpage.Table("", htmlpage.Columns("*kind|episodes|T_rec median|T_rec p95|T_rec p99|D median|D p95|time lost|on timers|not repaired|spurious retransmissions|undecided"),
				v.Kinds, func(k kindView) g.Group {
					return g.Group{htmlpage.Words(k.Kind), integer(k.N), htmlpage.Cells(k.Spans...), integer(k.Open), integer(k.Spurious), integer(k.Undecided)}
				}),
			htmlpage.Soft("T_rec = D + A + P, by the sender’s clock: D from a transmission to its first retransmission, A from there to the retransmission that arrived, P from there to its ACK. Time lost: how long the receiver’s application got nothing that the path could have brought. On timers: the part of it that the sender waited for its timers."),
		}),
		g.If(len(v.Episodes) > 0, g.Group{
			h.H3(g.Text("Episodes")), newline,
			htmlpage.Soft(sentences(v.EpisodesNote, "At: since the first packet of the file, as in Wireshark. Needed: ? where the capture cannot tell. Sent: number of retransmissions. Tax: the part of D that an exact timer, or ACKs if any came, would have saved.")),
			htmlpage.Table("sort", htmlpage.Columns("conn|packet|at, s|*kind|T_rec|lost|*needed|D|A|P|RTT|tax|sent|*evidence|*from|*to"),
				v.Episodes, episodeView.cells),
		}),
		h.H3(g.Text("Connections")), newline,
		htmlpage.Soft(v.ConnsNote),
		htmlpage.Table("sort", htmlpage.Columns("conn|time lost|longest T_rec|episodes|*first|*second|packets|bytes →|bytes ←|duration|RTT →|RTT ←|retransmissions|spurious|*timers →|*timers ←|*end"),
			v.Conns, connView.cells),
		htmlpage.Soft(v.DrawnNote),
		g.Map(v.Drawn, func(d drawnView) g.Node {
			return wireDrawnView{d.ID, fmt.Sprintf("Connection %d: %s", d.Conn, d.Ends), d.Words, d.Figures, d.Zooms}.node()
		}),
	)
}

// sentences joins two sentences. The first may be empty.
func sentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

func (e episodeView) cells() g.Group {
	return g.Group{
		h.Td(htmlpage.Link(e.Drawn, strconv.Itoa(e.Conn))), h.Td(g.If(e.Said != "", h.Title(e.Said)), g.Text(strconv.FormatInt(e.Packet, 10))),
		htmlpage.Cells(e.At), htmlpage.Words(fmt.Sprint(e.Kind)), cells(e.Repair...), htmlpage.Words(e.Needed), cells(e.Spans...),
		integer(e.Retransmissions), htmlpage.Words(fmt.Sprint(e.Evidence), fmt.Sprint(e.Src), fmt.Sprint(e.Dst)),
	}
}

func (c connView) cells() g.Group {
	return g.Group{
		h.Td(htmlpage.Link(c.Drawn, strconv.Itoa(c.Conn))), cells(c.Repair...), integer(c.Episodes), htmlpage.Words(c.Src, c.Dst), integer(c.Packets),
		integer(c.Out), integer(c.Back), cells(c.Spans...), integer(c.Retransmissions), integer(c.Spurious), htmlpage.Words(c.TimersOut, c.TimersBack, c.End),
	}
}

func (d wireDrawnView) node() g.Node {
	return g.Group{
		h.H3(h.ID(d.ID), g.Text(d.Title)), newline, htmlpage.Softs(d.Words),
		h.Div(h.Class("figures pairs"), pictures(d.Figures), pictures(d.Zooms)), newline,
	}
}

func (v refusalsView) node() g.Node {
	if len(v.Refusals) == 0 {
		return nil
	}
	return g.Group{
		h.H2(g.Text("Not replayed")), newline,
		htmlpage.Table("", htmlpage.Columns("*capture|*connection|*because"), v.Refusals, func(r Refusal) g.Group { return htmlpage.Words(r.File, r.Conn, r.Reason) }),
		more(v.More),
	}
}

// more says how many rows are left out.
func more(n int) g.Node {
	if n == 0 {
		return nil
	}
	return htmlpage.Soft(fmt.Sprintf("And %d more.", n))
}

func (v *replayView) nodes() g.Group {
	return g.Group{
		g.Iff(v.Headline != nil, func() g.Node {
			return g.Group{
				h.P(h.Class("answer"), h.B(g.Text(v.Headline.Lost))), newline, h.P(h.Class("answer"), h.B(g.Text(v.Headline.Timers))), newline,
				g.If(len(v.Headline.Each) > 0, h.Ul(g.Map(v.Headline.Each, func(s string) g.Node { return h.Li(g.Text(s), newline) }))),
			}
		}),
		g.Iff(v.Savings != nil, func() g.Node {
			return g.Group{h.Div(h.Class("opening"), v.Savings.node(), v.Times.node()), newline}
		}),
		htmlpage.Soft("Made by tcpwheel. Each policy replayed the losses, delays and applications of the captures in virtual time, with all else equal. T_rec is the time from the first transmission to the ACK of the repair. The oracle retransmits when the captured senders did: a loss counts only where it takes the captured time, within 10 % or 2 ms."),
		htmlpage.Facts(v.Facts), htmlpage.Soft(v.Counts), htmlpage.Softs(v.Notes),
		g.Iff(len(v.Policies) > 0, v.compared),
		g.If(len(v.Policies) == 0 && len(v.Refusals) > 0, h.P(g.Text("No connection with losses can be replayed."))),
		g.If(len(v.Policies) == 0 && len(v.Refusals) == 0, h.P(g.Text("The capture shows no loss: there is nothing to compare."))),
		v.refusalsView.node(),
	}
}

func (v *replayView) compared() g.Node {
	about := "n: the losses that count under the policy. Saved: the oracle’s recovery times less the policy’s, loss by loss, in time and as a share of the oracle’s, with the interval of 99 %. By time and by index: packets meet the fate of what left then, or of the packet of the same number; a verdict needs all three to agree. Median, p95, p99: recovery times. Waiting: their sum, less a round trip each. Spurious: unnecessary retransmissions of whole connections, those without a loss included; as captured, of the connections that were replayed. Left out: losses whose repair under the policy depends on packets that the capture does not show."
	if v.Models != "" {
		about += " The policy captured uses the timers that explain each connection best: " + v.Models + "."
	}
	losses := ofFile(v.Files, htmlpage.Column{Name: "capture", Words: true}, htmlpage.Columns("conn|packet|at, s|*kind|*spurious|*from|as captured|oracle")...)
	for _, name := range v.Heads {
		losses = append(losses, htmlpage.Column{Name: name})
	}
	return g.Group{
		h.H2(g.Text("Policies")), newline,
		htmlpage.Table("sort", htmlpage.Columns("*policy|*verdict|n|saved|in percent|99 % interval|by time|by index|median|p95|p99|waiting|left out|spurious"),
			v.Policies, func(p policyView) g.Group {
				return g.Group{
					htmlpage.Words(p.Name), h.Td(h.Class("w"), g.If(p.Why != "", h.Title(p.Why)), g.Text(p.Verdict)), htmlpage.Cells(p.N), cells(p.Saved...), cells(p.Spans...),
					htmlpage.Cells(p.LeftOut, p.Spurious),
				}
			}),
		g.Map(v.Open, func(o openView) g.Node { return htmlpage.Soft("Cannot tell (" + o.Policies + "): " + o.Why + ".") }),
		htmlpage.Soft(about),
		h.Div(h.Class("figures"), pictures(v.Curves)), newline,
		g.If(len(v.Pairs) > 0, g.Group{h.H2(g.Text("Loss by loss: the oracle against each policy")), newline, h.Div(h.Class("figures"), pictures(v.Pairs)), newline}),
		g.If(len(v.Losses) > 0, g.Group{
			h.H2(g.Text("Losses")), newline,
			htmlpage.Soft(v.LossNote + "Recovery times as captured, under the oracle and under each policy, by range. Those in parentheses do not count. The title under the pointer has the reason, and the other keys where they differ."),
			htmlpage.Table("sort", losses, v.Losses, func(l lossView) g.Group {
				return ofFile[g.Node](v.Files, htmlpage.Words(l.File), integer(l.Conn), integer(l.Packet), htmlpage.Cells(l.At), htmlpage.Words(l.Kind, l.Spurious, l.From), cells(l.Spans...))
			}),
		}),
		g.If(len(v.Gated) > 0, g.Group{
			h.H2(g.Text("Losses that could not be replayed")), newline,
			htmlpage.Table("sort", htmlpage.Columns("*capture|conn|packet|*kind|as captured|oracle|*because"), v.Gated, func(l gatedView) g.Group {
				return g.Group{htmlpage.Words(l.File), integer(l.Conn), integer(l.Packet), htmlpage.Words(l.Kind), cells(l.Captured, l.Oracle), htmlpage.Words(l.Why)}
			}),
			more(v.MoreGate),
		}),
	}
}

func (v *wireView) nodes() g.Group {
	return g.Group{
		htmlpage.Soft("Made by tcpwheel. An engine receives what an end of the capture received, at the same times, and sends under its own timers. This is an open loop: its packets do not change what it receives. Each of its transmissions is compared with the captured one."),
		htmlpage.Facts(v.Facts), htmlpage.Softs(v.Notes),
		g.Iff(len(v.Ends) > 0, func() g.Node {
			columns := htmlpage.Columns("conn|*from|*policy|first transmissions within 1 ms|retransmissions within 1 ms|not captured|off, median|p95|*first difference: captured|*engine")
			return g.Group{
				h.H2(g.Text("Ends")), newline,
				htmlpage.Table("sort", ofFile(v.Files, htmlpage.Column{Name: "capture", Words: true}, columns...), v.Ends, func(e wireEndView) g.Group {
					return ofFile[g.Node](v.Files, htmlpage.Words(e.File), h.Td(htmlpage.Link(e.Drawn, strconv.Itoa(e.Conn))), htmlpage.Words(e.From, e.Policy),
						htmlpage.Cells(e.First, e.Again), integer(e.More), cells(e.Spans...), htmlpage.Words(e.Captured, e.Differs))
				}),
				htmlpage.Soft(v.EndsNote),
				h.Div(h.Class("figures"), pictures(v.Curves), pictures(v.Pairs)), newline,
				drawnEnds("The ends that are farthest off, at most twelve, with their farthest transmissions magnified.", v.Drawn),
			}
		}),
		g.If(len(v.Ends) == 0 && v.Lossy > 0, h.P(g.Text("No connection with losses has an open loop."))),
		g.If(len(v.Ends) == 0 && v.Lossy == 0, h.P(g.Text("The capture shows no loss: there is nothing to compare."))),
		v.refusalsView.node(),
	}
}

func drawnEnds(about string, drawn []wireDrawnView) g.Node {
	return g.Group{h.H2(g.Text("Transmissions, compared with the capture")), newline, htmlpage.Soft(about), g.Map(drawn, wireDrawnView.node)}
}

func (v *validationView) nodes() g.Group {
	return g.Group{
		htmlpage.Soft("Made by tcpwheel. Losses at their senders, as captured and under timers that should match the captured ones (V2; V4 learns ticks, ACKs and first flights from the other half of the connections) or should not (V3). D is the time from a transmission to the next one by an engine in an open loop; T_rec, to the ACK, is from the replay by range."),
		htmlpage.Facts(v.Facts),
		g.If(len(v.Checks) > 0, g.Group{
			h.H2(g.Text("Checks")), newline,
			htmlpage.Table("", htmlpage.Columns("*check|*policy|first transmissions within 1 ms|timeouts|probes|reordering timer|by an ACK|T_rec off, median|p95|*passes|*should"),
				v.Checks, func(c checkView) g.Group {
					return g.Group{
						htmlpage.Words(c.Name, c.Policy), htmlpage.Cells(c.First), htmlpage.Cells(c.Counts...), cells(c.Median, c.P95),
						h.Td(h.Class("w"), h.B(h.Class(c.Kind), g.Text(c.Passes))), htmlpage.Words(c.Want),
					}
				}),
			htmlpage.Soft("A timeout is right within a jiffy (4 ms) or 2 % of the captured one, a probe and RACK’s reordering timer within two jiffies, a retransmission caused by an ACK within 1 ms. A check passes if 95 % of each are right and recovery times are off by at most 5 % in the median and 10 % at the 95th percentile."),
			h.Div(h.Class("figures"), g.Map(v.Checks, func(c checkView) g.Node { return g.Group{c.Detections.node(), c.Recovery.node()} })), newline,
			g.Map(v.Checks, func(c checkView) g.Node { return c.losses(v.Files) }),
		}),
		g.If(len(v.Drawn) > 0, drawnEnds("The senders that are farthest off in the open loop, at most twelve, with their farthest transmissions magnified.", v.Drawn)),
		v.refusalsView.node(),
	}
}

// losses returns the losses of a check, one by one.
func (c *checkView) losses(files bool) g.Node {
	if len(c.Losses) == 0 {
		return nil
	}
	columns := htmlpage.Columns("conn|packet|at, s|*kind|*from|D captured|D open loop|*right|T_rec captured|T_rec replayed|off")
	return g.Group{
		h.H2(g.Text(c.Name + ", loss by loss")), newline, htmlpage.Soft(c.Note),
		htmlpage.Table("sort", ofFile(files, htmlpage.Column{Name: "capture", Words: true}, columns...), c.Losses, func(l judgedView) g.Group {
			return ofFile[g.Node](files, htmlpage.Words(l.File), integer(l.Conn), integer(l.Packet), htmlpage.Cells(l.At), htmlpage.Words(l.Kind, l.From),
				cells(l.Spans[:2]...), htmlpage.Words(l.Right), cells(l.Spans[2:]...), cells(l.Off))
		}),
	}
}
