package figure

import "tcpwheel/wheel/stat"

// Figure is one diagram. It needs a title, axes, and at least one series or a Map: see Check.
type Figure struct {
	Name  string `json:"name"`  // of its files: lower case, digits and hyphens
	Title string `json:"title"` // one line
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`

	Series []Series `json:"series,omitempty"`
	Marks  []Mark   `json:"marks,omitempty"`
	Map    *Map     `json:"map,omitempty"` // in place of Series

	// Caption says in a sentence or two what to look at: what was expected, what is visible.
	Caption string `json:"caption,omitempty"`

	// Wide doubles the room for data: the drawing scrolls on a phone. Height is that of the plot, 250
	// if it is 0. Lane is the height of a lane for Draw between the plot and the labels of X.
	Wide         bool    `json:"-"`
	Height, Lane float64 `json:"-"`
	// Draw draws over the Series, for marks of its own, and returns their entries of the legend.
	Draw func(p *Plot) []Item `json:"-"`
}

// Axis is one axis. It spans the data unless Lo and Hi, with Lo < Hi, set its ends.
type Axis struct {
	Label string  `json:"label"` // with its unit, such as "RTT, ms"
	Log   bool    `json:"log,omitempty"`
	Lo    float64 `json:"lo,omitempty"`
	Hi    float64 `json:"hi,omitempty"`
	// Ticks are the labels of places 0, 1, 2, … of an axis of categories.
	Ticks []string `json:"ticks,omitempty"`
	// Text formats the values of ticks, in place of numbers such as 25k.
	Text func(v float64) string `json:"-"`
	// Cuts are the ranges to leave out between Lo and Hi, in order.
	Cuts []Cut `json:"-"`
}

// Over returns an axis from lo to hi. An empty range becomes 1 wide.
func Over(label string, lo, hi float64) Axis {
	if !(hi > lo) {
		hi = lo + 1
	}
	return Axis{Label: label, Lo: lo, Hi: hi}
}

// Kind says how to draw a series.
type Kind string

// The kinds of series.
const (
	Line   Kind = "line"   // points joined by lines
	Steps  Kind = "steps"  // a value holds until the next point: distributions
	Points Kind = "points" // points alone
	Bars   Kind = "bars"   // from 0 up, next to the bars of other series
	Dots   Kind = "dots"   // points that are too many for signs
	Links  Kind = "links"  // each two points are joined
	Spans  Kind = "spans"  // bars along X from Lo to Hi, at Y
)

// Kinds are all of them.
var Kinds = []Kind{Line, Steps, Points, Bars, Dots, Links, Spans}

// Colour is the name of a colour of the palette.
type Colour string

// The palette, in the order of the series that take them.
const (
	Blue    Colour = "blue"
	Orange  Colour = "orange"
	Green   Colour = "green"
	Purple  Colour = "purple"
	Red     Colour = "red"
	Teal    Colour = "teal"
	Magenta Colour = "magenta"
	Grey    Colour = "grey"
)

var colours = []Colour{Blue, Orange, Green, Purple, Red, Teal, Magenta, Grey}

// Series is one series of values. X rises along a Line, Steps and Bars.
type Series struct {
	Name string    `json:"name"` // "" for none in the legend
	Kind Kind      `json:"kind"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	// Lo and Hi bound the interval of each Y; nil means none. Where Y has categories, and for Spans,
	// they bound that of X.
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
	// Dashed marks expected or published values.
	Dashed bool `json:"dashed,omitempty"`
	// Series of one Group share a colour, series of one Marker share a sign. 0 means its own.
	Group  int `json:"group,omitempty"`
	Marker int `json:"marker,omitempty"`
	// Colour is a colour of its own; "" means the next one.
	Colour Colour `json:"colour,omitempty"`
	// Titles are the texts under the pointer of each point; nil means its values.
	Titles []string `json:"-"`
}

// joined reports whether a line or an area joins the points, so that X must rise.
func (s *Series) joined() bool { return s.Kind == Line || s.Kind == Steps || s.Kind == Bars }

// across reports whether intervals lie along X.
func (f *Figure) across(s *Series) bool { return s.Kind == Spans || len(f.Y.Ticks) > 0 }

// Add appends a point without an interval.
func (s *Series) Add(x, y float64) { s.X, s.Y = append(s.X, x), append(s.Y, y) }

// AddInterval appends a point with its interval.
func (s *Series) AddInterval(x float64, y stat.Interval) {
	s.Add(x, y.Value)
	s.Lo, s.Hi = append(s.Lo, y.Lo), append(s.Hi, y.Hi)
}

// Mark is a straight line across the diagram at a published or expected value.
type Mark struct {
	Label    string  `json:"label"`
	At       float64 `json:"at"`
	Vertical bool    `json:"vertical,omitempty"` // at an X, else at a Y
}

// Map is a grid of cells, coloured by value or by the name of a winner.
type Map struct {
	Columns []string `json:"columns"` // from left to right, the X axis
	Rows    []string `json:"rows"`    // from the bottom up, the Y axis
	// Value[row][column] sets the colour, by its logarithm if Log is set.
	Value [][]float64 `json:"value,omitempty"`
	Log   bool        `json:"log,omitempty"`
	// Lo and Hi, with Lo < Hi, are the values of the ends of the colours, so that maps compare. The
	// default is the least and the greatest value.
	Lo float64 `json:"lo,omitempty"`
	Hi float64 `json:"hi,omitempty"`
	// Class[row][column] is an index into Classes. It sets the colour in place of Value.
	Class   [][]int  `json:"class,omitempty"`
	Classes []string `json:"classes,omitempty"`
	// Text[row][column] is the text in the cell; nil means none.
	Text [][]string `json:"text,omitempty"`
}
