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
}

// Axis is one axis. It spans the data unless Lo and Hi, with Lo < Hi, set its ends.
type Axis struct {
	Label string  `json:"label"` // with its unit, such as "RTT, ms"
	Log   bool    `json:"log,omitempty"`
	Lo    float64 `json:"lo,omitempty"`
	Hi    float64 `json:"hi,omitempty"`
	// Ticks are the labels of places 0, 1, 2, … of an axis of categories.
	Ticks []string `json:"ticks,omitempty"`
}

// Kind says how to draw a series.
type Kind string

// The kinds of series.
const (
	Line   Kind = "line"   // points joined by lines
	Steps  Kind = "steps"  // a value holds until the next point: distributions
	Points Kind = "points" // points alone
	Bars   Kind = "bars"   // from 0 up, next to the bars of other series
)

// Series is one series of values. X rises, except for Points.
type Series struct {
	Name string    `json:"name"`
	Kind Kind      `json:"kind"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	// Lo and Hi bound the interval of each Y; nil means none.
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
	// Dashed marks expected or published values.
	Dashed bool `json:"dashed,omitempty"`
	// Series of one Group share a colour, series of one Marker share a sign. 0 means its own.
	Group  int `json:"group,omitempty"`
	Marker int `json:"marker,omitempty"`
}

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
