package figure

import "tcpwheel/experiments/internal/stat"

// Figure is one diagram. Title, axes and at least one series or Map are wanted; Check says what is missing.
type Figure struct {
	Name  string `json:"name"`  // of its files, as "wait-by-policy": lower case, digits and hyphens
	Title string `json:"title"` // what it shows, in a line
	X     Axis   `json:"x"`
	Y     Axis   `json:"y"`

	Series []Series `json:"series,omitempty"`
	Marks  []Mark   `json:"marks,omitempty"`
	Map    *Map     `json:"map,omitempty"` // in place of Series

	// Caption says what to look at, in a sentence or two: what was expected, what is seen.
	Caption string `json:"caption,omitempty"`
}

// Axis is one axis. The ends are those of the data unless Lo and Hi, of which Hi is the greater, set them.
type Axis struct {
	Label string  `json:"label"` // with its unit, as "round trip, ms"
	Log   bool    `json:"log,omitempty"`
	Lo    float64 `json:"lo,omitempty"`
	Hi    float64 `json:"hi,omitempty"`
	// Ticks are the labels of the places 0, 1, 2, … of an axis of categories.
	Ticks []string `json:"ticks,omitempty"`
}

// Kind is how a series is drawn.
type Kind string

// The kinds of series.
const (
	Line   Kind = "line"   // points joined by lines
	Steps  Kind = "steps"  // a value holds until the next point: distributions
	Points Kind = "points" // points alone
	Bars   Kind = "bars"   // from 0 up, beside those of other series at the same place
)

// Series is values that belong together. X rises, but for Points.
type Series struct {
	Name string    `json:"name"`
	Kind Kind      `json:"kind"`
	X    []float64 `json:"x"`
	Y    []float64 `json:"y"`
	// Lo and Hi bound the interval of each Y; nil is none.
	Lo []float64 `json:"lo,omitempty"`
	Hi []float64 `json:"hi,omitempty"`
	// Dashed tells what was expected, or published, from what was measured.
	Dashed bool `json:"dashed,omitempty"`
	// Group gives series of one group the same colour, and Marker those of one marker the same sign: 0 is one of its
	// own.
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

// Mark is a straight line across the diagram, for a value that was published or expected.
type Mark struct {
	Label    string  `json:"label"`
	At       float64 `json:"at"`
	Vertical bool    `json:"vertical,omitempty"` // at an X, else at a Y
}

// Map is a grid of cells: of colours by value, or of the names of winners.
type Map struct {
	Columns []string `json:"columns"` // from left to right, the X axis
	Rows    []string `json:"rows"`    // from the bottom up, the Y axis
	// Value[row][column] is the value; it is coloured by its logarithm if Log is set.
	Value [][]float64 `json:"value,omitempty"`
	Log   bool        `json:"log,omitempty"`
	// Class[row][column] is an index into Classes, whose cells are coloured alike, in place of values.
	Class   [][]int  `json:"class,omitempty"`
	Classes []string `json:"classes,omitempty"`
	// Text[row][column] stands in the cell; nil is none.
	Text [][]string `json:"text,omitempty"`
}
