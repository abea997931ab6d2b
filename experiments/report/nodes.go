package report

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/experiments/plan"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/htmlpage"
)

// newline keeps the lines of a page readable.
const newline = htmlpage.Markup("\n")

func (v *pageView) nodes() g.Node {
	links := func() (all g.Group) {
		if len(v.Heads) > 0 {
			all = append(all, htmlpage.Link("headlines", "what matters most"))
		}
		for i := range v.Studies {
			all = append(all, htmlpage.Link(v.Studies[i].Name, v.Studies[i].ID+" "+v.Studies[i].Name))
		}
		if len(v.Live) > 0 {
			all = append(all, htmlpage.Link("live", "by the clock"))
		}
		if len(v.Claims) > 0 {
			all = append(all, htmlpage.Link("open", "what was not reproduced"), htmlpage.Link("claims", "all claims"))
		}
		return all
	}
	return g.Group{
		h.P(h.Class("soft"),
			g.Text("Made by tcpwheel. The studies run its TCP and its timing wheels in virtual time: the same "+
				"plans and seeds give this page again, byte for byte. Bands that decide verdicts come from the "+
				"sources and from definitions; a study whose bands or settings were added after a first run says "+
				"so in its README. Class: a "),
			h.I(g.Text("published")), g.Text(" result is a number or an order that somebody else printed; a "),
			h.I(g.Text("law")),
			g.Text(" is a rule or a band that this project set; a "), h.I(g.Text("check")),
			g.Text(" tests the study. "), h.I(g.Text("Unsettled")),
			g.Text(": chance may have decided, at a false discovery rate of 5 %. "), h.Code(g.Text(v.Command))),
		newline,
		htmlpage.Facts(v.Facts), h.Nav(links()), newline,
		g.If(len(v.Heads) > 0, g.Group{
			h.H2(h.ID("headlines"), g.Text("What matters most")), newline,
			h.Div(h.Class("figures"), g.Map(v.Heads, headlineView.node)), newline,
		}),
		g.Map(v.Studies, studyView.node),
		g.If(len(v.Live) > 0, h.Section(h.ID("live"), newline,
			h.H2(g.Text("By the clock of one machine")), newline,
			htmlpage.Soft("What follows was timed here, or seen of this machine’s kernel. It differs from run to "+
				"run, and is not part of the claims above."),
			htmlpage.Facts(v.Machine), g.Map(v.Live, liveView.node), newline)),
		g.Iff(len(v.Claims) > 0, func() g.Node {
			return g.Group{
				h.H2(h.ID("open"), g.Text("What was not reproduced")), newline,
				g.If(len(v.Open) > 0, h.Div(h.Class("opens"), g.Map(v.Open, claimView.open))),
				g.If(len(v.Open) == 0, h.P(g.Text("Nothing: each claim is within the band that was set for it."))),
				newline,
				h.H2(h.ID("claims"), g.Text("All claims")), newline,
				claims(v.Claims, true),
			}
		}),
	}
}

func (f *figureView) node() g.Node {
	return f.Figure.Element(
		g.If(f.Figure.Caption != "", h.FigCaption(inline(f.Figure.Caption))),
		h.P(h.Class("made"), h.Code(g.Text(f.Command))), newline,
		g.If(f.Data != "", figure.DataElement(f.Figure.Name+".csv", f.Data)),
		g.If(f.Data == "", h.P(h.Class("soft"), g.Text("Its data is long: "), h.A(h.Href(f.File+".csv"),
			g.Text(f.File+".csv")))), newline,
	)
}

func (v headlineView) node() g.Node {
	return h.Section(h.Class("headline"), h.H3(g.Text(v.Title)), newline,
		h.P(g.If(v.Found != "", g.Group{inline(v.Found), g.Text(" ")}), htmlpage.Link(v.Study, v.ID+" "+v.Study)),
		newline, v.Figure.Figure.Element(), newline)
}

func (v studyView) node() g.Node {
	return h.Section(h.ID(v.Name), newline,
		h.H2(g.Text(v.ID+" "+v.Name+": "+v.Question)), newline,
		h.P(h.Class("soft"), g.Text(v.Class+" "), h.Code(g.Text(v.Command))), newline,
		g.If(v.User, h.P(h.B(g.Text("It ran with the plan of a user")),
			g.Text(", which says what differs from the study’s own. "), g.Text(plan.Question(v.Plan)))),
		h.Div(h.Class("prose"), g.If(v.Found != "", h.P(h.B(g.Text("Found.")), g.Text(" "), inline(v.Found))), newline,
			v.Readme), newline, v.outcomeView.node(),
		h.Details(h.Summary(g.Text("plan")), h.Pre(h.Class("csv"), g.Attr("data-name", v.Name+"-plan.yaml"),
			g.Text(v.Plan))), newline,
		htmlpage.Facts(v.Facts))
}

func (v liveView) node() g.Node {
	return g.Group{
		h.H3(g.Text(v.ID + " " + v.Study + ": " + v.Name)), newline,
		g.If(v.Skipped != "", h.P(g.Text("It could not run: "+v.Skipped+"."))),
		g.If(v.Skipped == "", v.outcomeView.node()),
	}
}

func (v *outcomeView) node() g.Node {
	files := func() (all g.Group) {
		for i, t := range v.Files {
			if i > 0 {
				all = append(all, g.Text("; "))
			}
			all = append(all, h.A(h.Href(t.File), g.Text(t.File)), g.Text(", "+t.Title))
		}
		return all
	}
	return g.Group{
		claims(v.Claims, false),
		g.Map(v.Warnings, func(s string) g.Node {
			return h.P(h.Class("warning"), h.B(g.Text("Warning.")), g.Text(" "), inline(s))
		}),
		g.If(len(v.Figures) > 0, h.Div(h.Class("figures"), g.Map(v.Figures,
			func(f figureView) g.Node { return f.node() }))), newline,
		h.Div(h.Class("tables"), g.Map(v.Tables, func(t tableView) g.Node {
			return h.Div(h.H4(g.Text(t.Title)), newline, htmlpage.Table("sort", t.Head, t.Body,
				func(row []cellView) g.Group {
					return g.Map(row, func(c cellView) g.Node {
						return h.Td(g.If(c.Word, h.Class("w")), g.If(c.Text != c.Value, g.Attr("data-v", c.Value)),
							g.Text(c.Text))
					})
				}))
		})), newline,
		g.If(len(v.Files) > 0, h.P(h.Class("soft"), g.Text("Tables for programs, in files next to this page: "),
			files(), g.Text("."))),
		h.Div(h.Class("prose"), g.Map(v.Notes, func(s string) g.Node { return h.P(inline(s), newline) })),
	}
}

// claims returns a table of claims. It is cards on a narrow screen, each cell with the name of its
// column. Claims of several studies are linked to them.
func claims(all []claimView, linked bool) g.Node {
	if len(all) == 0 {
		return nil
	}
	names, cards, class := "claim|class|published|source|measured|95 % interval|expected|verdict",
		"scroll cards", "sort claims"
	if linked {
		names, cards, class = "study|"+names, cards+" all", class+" linked"
	}
	var columns []htmlpage.Column
	for name := range strings.SplitSeq(names, "|") {
		columns = append(columns, htmlpage.Column{Name: name, Words: true})
	}
	return h.Div(h.Class(cards), htmlpage.TableOnly(class, columns, all, func(c claimView) (row g.Group) {
		cell := func(class string, nodes ...g.Node) {
			row = append(row, h.Td(h.Class(class), g.Attr("data-h", columns[len(row)].Name), g.Group(nodes)))
		}
		known := func(text string) {
			if text == "" {
				cell("w wrap none", g.Text("–"))
				return
			}
			cell("w wrap", g.Text(text))
		}
		soft := func(text string) g.Node { return g.Group{g.Text(" "), h.Span(h.Class("soft"), g.Text("("+text+")"))} }
		if linked {
			cell("w", htmlpage.Link(c.Study, c.ID+" "+c.Study))
		}
		cell("w wrap", g.Text(c.Text))
		cell("w", g.Text(string(c.Class)))
		known(c.Published)
		cell("w wrap", g.Text(c.Source), g.If(isComputed(c.Claim), soft("computed for this project")))
		cell("w wrap", g.Text(c.Value))
		known(c.Interval)
		cell("w wrap", g.Text(c.Expected.String()), g.If(c.Basis != "", soft(c.Basis)))
		cell("w", c.verdict())
		return row
	}), newline)
}

func (c claimView) verdict() g.Node {
	return g.Group{
		h.B(h.Class("v-"+c.Kind), g.Text(c.VerdictText())), g.If(c.Unsettled,
			g.Group{g.Text(" "), h.Span(h.Class("soft"), g.Text("unsettled"))}),
	}
}

// open returns a claim that was not reproduced, and why.
func (c claimView) open() g.Node {
	var said strings.Builder
	if c.Published != "" {
		said.WriteString("Published: " + c.Published + " (" + c.Source + "). ")
	}
	said.WriteString("Expected: " + c.Expected.String() + ". Measured: " + c.Value)
	if c.Interval != "" {
		said.WriteString(" (" + c.Interval + ")")
	}
	return h.Div(h.Class("open"),
		h.P(c.verdict(), g.Text(" "), htmlpage.Link(c.Study, c.ID+" "+c.Study), g.Text(": "+c.Text)), newline,
		h.P(g.Text(said.String()+".")), newline,
		h.P(h.Class("soft"), g.Text("Why: "+sentence(c.Why))), newline)
}
