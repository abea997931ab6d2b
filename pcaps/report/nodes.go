package report

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
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

// newline keeps the lines of a page readable.
const newline = htmlpage.Markup("\n")

// episodeColumns are the columns of the table of episodes.
const episodeColumns = "conn retransmission_packet at_s.6 kind t_rec_s time_lost_s spurious d_s a_s p_s rtt_s timer_tax_s retransmissions evidence src dst"

func (v sectionView) node() g.Node {
	return h.Section(h.ID(v.ID), newline,
		h.H2(g.Text(v.File)), newline,
		h.P(h.Class("answer"), g.Text(v.First), g.If(v.Second != "", g.Text(" "+v.Second))), newline,
		htmlpage.Softs(v.Notes),
		v.Stalls.node(),
		h.Div(h.Class("opening"), v.Recoveries.node(), h.Div(htmlpage.Facts(v.Facts))), newline,
		g.If(len(v.Kinds) > 0, g.Group{
			h.H3(g.Text("Losses, by the cause of the first retransmission")), newline,
			htmlpage.Records("", "", v.Kinds, nil),
			htmlpage.Soft("T_rec = D + A + P, by the sender’s clock: D from a transmission to its first retransmission, A from there to the retransmission that arrived, P from there to its ACK. Time lost: how long the receiver’s application got nothing that the path could have brought. On timers: the part of it that the sender waited for its timers."),
		}),
		g.If(len(v.Episodes) > 0, g.Group{
			h.H3(g.Text("Episodes")), newline,
			htmlpage.Soft(sentences(v.EpisodesNote, "At: since the first packet of the file, as in Wireshark. Needed: ? where the capture cannot tell. Sent: number of retransmissions. Tax: the part of D that an exact timer, or ACKs if any came, would have saved.")),
			htmlpage.Records("sort", episodeColumns, v.Episodes, func(r *track.Episode, column string, c *record.Cell) {
				switch column {
				case "conn":
					c.Link = v.Drawings[r.Conn]
				case "retransmission_packet":
					c.Title = v.Said[r.DetectedPacket]
				}
			}),
		}),
		h.H3(g.Text("Connections")), newline,
		htmlpage.Soft(v.ConnsNote),
		htmlpage.Records("sort", "", v.Conns, func(r *connView, column string, c *record.Cell) {
			if column == "Conn" {
				c.Link = v.Drawings[r.Conn]
			}
		}),
		htmlpage.Soft(v.DrawnNote),
		g.Map(v.Drawn, drawnView.node),
	)
}

// sentences joins two sentences. The first may be empty.
func sentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + " " + b
}

func (d drawnView) node() g.Node {
	return g.Group{
		h.H3(h.ID(d.ID), g.Text(fmt.Sprintf("Connection %d: %s", d.Conn, d.Ends))), newline, htmlpage.Softs(d.Words),
		h.Div(h.Class("figures pairs"), pictures(d.Figures), pictures(d.Zooms)), newline,
	}
}

func (v refusalsView) node() g.Node {
	if len(v.Refusals) == 0 {
		return nil
	}
	return g.Group{
		h.H2(g.Text("Not replayed")), newline,
		htmlpage.Records("", "", v.Refusals, nil),
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
		g.Iff(v.Savings != nil || v.Times != nil, func() g.Node {
			return g.Group{h.Div(h.Class("opening"), v.Savings.node(), v.Times.node()), newline}
		}),
		htmlpage.Soft("Made by tcpwheel. Each policy replayed the losses, delays and applications of the captures in virtual time, with all else equal. T_rec is the time from the first transmission to the ACK of the repair. The control retransmits when the captured senders did: a loss counts only where it takes the captured time, within 10 % or 2 ms."),
		htmlpage.Facts(v.Facts), htmlpage.Soft(v.Counts), htmlpage.Softs(v.Notes),
		g.Iff(len(v.Policies) > 0, v.compared),
		g.If(len(v.Policies) == 0 && len(v.Refusals) > 0, h.P(g.Text("No connection with losses can be replayed."))),
		g.If(len(v.Policies) == 0 && len(v.Refusals) == 0, h.P(g.Text("The capture shows no loss: there is nothing to compare."))),
		v.refusalsView.node(),
	}
}

func (v *replayView) compared() g.Node {
	about := "n: the losses that count under the policy. Saved: the control’s recovery times less the policy’s, loss by loss, in time and as a share of the control’s, with the interval of 98 %. By time and by index: packets meet the fate of what left then, or of the packet of the same number; a verdict needs all three to agree. Median, p95, p99: recovery times. Waiting: their sum, less a round trip each. Spurious: unnecessary retransmissions of whole connections, those without a loss included; as captured, of the connections that were replayed. Left out: losses whose repair under the policy depends on packets that the capture does not show."
	if v.Models != "" {
		about += " The policy captured uses the timers that explain each connection best: " + v.Models + "."
	}
	columns := "file conn packet at_s.6 kind spurious From"
	if !v.Files {
		columns = strings.TrimPrefix(columns, "file ")
	}
	row := reflect.TypeFor[LossRow]()
	fields := append(record.Select(row, columns), Recoveries(append([]string{"as captured", "control"}, v.Heads...)...)...)
	gated := slices.Concat(record.Select(row, "file conn packet kind"), Recoveries("as captured", "control"), record.Select(row, "gate"))
	return g.Group{
		h.H2(g.Text("Policies")), newline,
		htmlpage.Records("sort", "", v.Policies, nil),
		g.Map(v.Open, func(o openView) g.Node { return htmlpage.Soft("Cannot tell (" + o.Policies + "): " + o.Why + ".") }),
		htmlpage.Soft(about),
		h.Div(h.Class("figures"), pictures(v.Curves)), newline,
		g.If(len(v.Pairs) > 0, g.Group{h.H2(g.Text("Loss by loss: the control against each policy")), newline, h.Div(h.Class("figures"), pictures(v.Pairs)), newline}),
		g.If(len(v.Losses) > 0, g.Group{
			h.H2(g.Text("Losses")), newline,
			htmlpage.Soft(v.LossNote + "Recovery times as captured, under the control and under each policy, by range. Those in parentheses do not count. The title under the pointer has the reason, and the other keys where they differ."),
			htmlpage.Fields("sort", fields, v.Losses, nil),
		}),
		g.If(len(v.Gated) > 0, g.Group{
			h.H2(g.Text("Losses that could not be replayed")), newline,
			htmlpage.Fields("sort", gated, v.Gated, func(_ *LossRow, _ string, c *record.Cell) { c.Aside, c.Title = false, "" }),
			more(v.MoreGate),
		}),
	}
}
