package htmlpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"reflect"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/internal/record"
)

var (
	//go:embed page.js
	script string
	//go:embed page.css
	style string
)

// Markup is HTML or SVG. As a node of a page it is written unchanged.
type Markup string

// Render writes the markup. It implements gomponents.Node.
func (m Markup) Render(w io.Writer) error {
	_, err := io.WriteString(w, string(m))
	return err
}

// Page returns a page that adds more to the common style. Its policy allows no network, and no
// script but the common one.
func Page(title, more string, body ...g.Node) g.Node {
	return g.Group{h.Doctype(h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")), h.Meta(g.Attr("http-equiv", "Content-Security-Policy"), h.Content(policy())),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")), h.Meta(h.Name("referrer"), h.Content("no-referrer")),
			h.TitleEl(g.Text(title)), h.StyleEl(Markup("\n"+style+more)),
		),
		h.Body(Markup("\n"), h.H1(g.Text(title)), g.Group(body), h.Script(Markup(script)), Markup("\n")),
	)), Markup("\n")}
}

func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Fact is a name and a value at the head of a page.
type Fact [2]string

// Facts returns a list of facts.
func Facts(all []Fact) g.Node {
	return h.Dl(g.Map(all, func(f Fact) g.Node { return h.Div(h.Dt(g.Text(f[0])), h.Dd(g.Text(f[1]))) }), Markup("\n"))
}

// Soft returns a paragraph of less importance, or nothing for no text.
func Soft(text string) g.Node {
	if text == "" {
		return nil
	}
	return h.P(h.Class("soft"), g.Text(text), Markup("\n"))
}

// Softs returns a paragraph for each text.
func Softs(all []string) g.Node { return g.Map(all, Soft) }

// A Column is the head of a table's column. Those of words are aligned left.
type Column struct {
	Name  string
	Words bool
}

// Table returns a table of rows. Its class may be "sort": a click on a head sorts the rows.
func Table[T any](class string, columns []Column, rows []T, row func(T) g.Group) g.Node {
	return h.Div(h.Class("scroll"), TableOnly(class, columns, rows, row), Markup("\n"))
}

// TableOnly is Table, without the frame that scrolls.
func TableOnly[T any](class string, columns []Column, rows []T, row func(T) g.Group) g.Node {
	return h.Table(g.If(class != "", h.Class(class)),
		h.THead(h.Tr(g.Map(columns, func(c Column) g.Node { return h.Th(g.If(c.Words, h.Class("w")), g.Text(c.Name)) }))), Markup("\n"),
		h.TBody(g.Map(rows, func(r T) g.Node { return g.Group{h.Tr(row(r)), Markup("\n")} })))
}

// Records returns a table of records: the columns that record.Select selects by names. adorn, if
// not nil, may add to the cell of a column.
func Records[T any](class, names string, rows []T, adorn func(row *T, column string, c *record.Cell)) g.Node {
	return Fields(class, record.Select(reflect.TypeFor[T](), names), rows, adorn)
}

// Fields is Records with these columns.
func Fields[T any](class string, fields []record.Field, rows []T, adorn func(row *T, column string, c *record.Cell)) g.Node {
	var columns []Column
	for i := range fields {
		columns = append(columns, Column{fields[i].Head, fields[i].Words()})
	}
	return Table(class, columns, rows, func(row T) (cells g.Group) {
		value := reflect.ValueOf(row)
		for i := range fields {
			c := fields[i].Cell(value)
			if adorn != nil {
				adorn(&row, fields[i].Name, &c)
			}
			cells = append(cells, cell(&c))
		}
		return cells
	})
}

// cell returns a cell of a table.
func cell(c *record.Cell) g.Node {
	text := Link(c.Link, c.Text)
	if c.Aside && c.Text != "" {
		text = g.Text("(" + c.Text + ")")
	}
	if c.Class != "" {
		text = h.B(h.Class(c.Class), text)
	}
	return h.Td(g.If(c.Words, h.Class("w")), g.If(c.Measure, g.Attr("data-v", c.Value)), g.If(c.Title != "", h.Title(c.Title)), text)
}

// Link returns a link to a place of the page, or only the text if there is none.
func Link(id, text string) g.Node {
	if id == "" {
		return g.Text(text)
	}
	return h.A(h.Href("#"+id), g.Text(text))
}
