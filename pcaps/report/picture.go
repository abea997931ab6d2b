package report

import (
	"slices"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/pcaps/figure"
)

// picture is a figure with its data as CSV.
type picture struct {
	figure.Figure
	Data string
}

func (p *picture) node() g.Node {
	if p == nil {
		return nil
	}
	return p.Element(g.If(p.Caption != "", h.FigCaption(g.Text(p.Caption))), figure.DataElement(p.Name+".csv", p.Data), newline)
}

func pictures(all []picture) g.Node { return g.Map(all, func(p picture) g.Node { return p.node() }) }

// Names of time axes.
const (
	sinceBegin = "seconds since the capture began"
	sinceFile  = "seconds since the first packet of the file"
)

// timeAxis returns an axis of times in seconds.
func timeAxis(label string, from, to float64) figure.Axis {
	a := figure.Over(label, from, to)
	a.Text = plainTick
	return a
}

// filled returns the series that have points.
func filled(all ...figure.Series) []figure.Series {
	return slices.DeleteFunc(all, func(s figure.Series) bool { return len(s.X) == 0 })
}
