package declared

import (
	"go.yaml.in/yaml/v3"

	"tcpwheel/pcaps/figure"
)

// Sheet is what a study claims and shows: its claims.yaml and figures.yaml. Read makes one.
type Sheet struct {
	let       ordered[formula]
	functions map[string]function
	groups    ordered[groupRows]
	claims    ordered[claim]
	tables    ordered[table]
	figures   ordered[graph]
	notes     ordered[note]

	question, rows string
	found          located

	claimsFile, figuresFile string
}

// function is a formula with parameters.
type function struct {
	params []string
	body   expression
	line   int
}

type claimsYAML struct {
	Question  located            `yaml:"question"` // in one line
	Found     located            `yaml:"found"`    // {claim} is what a claim measured
	Rows      located            `yaml:"rows"`     // what a row is
	Let       ordered[formula]   `yaml:"let"`
	Functions ordered[formula]   `yaml:"functions"`
	Groups    ordered[groupRows] `yaml:"groups"`
	Claims    ordered[claim]     `yaml:"claims"`
	Notes     ordered[note]      `yaml:"notes"`
}

type figuresYAML struct {
	Tables  ordered[table] `yaml:"tables"`
	Figures ordered[graph] `yaml:"figures"`
}

// groupRows makes rows of groups: a row for each group, with the columns that it shares, and
// measures of its rows.
type groupRows struct {
	Each     list[string]     `yaml:"each"`
	Where    formula          `yaml:"where"`
	Measures ordered[formula] `yaml:"measures"`
}

// claim is a claim of claims.yaml.
type claim struct {
	For       formula `yaml:"for"`  // a list; a claim for each value, with item and index
	Like      string  `yaml:"like"` // another claim, whose keys hold where this one has none
	When      formula `yaml:"when"`
	Else      prose   `yaml:"else"`
	Seeds     formula `yaml:"seeds"` // the least of the plan's seeds for a verdict
	Class     located `yaml:"class"`
	Text      prose   `yaml:"text"`
	Published prose   `yaml:"published"`
	Source    located `yaml:"source"`
	Tag       located `yaml:"tag"`
	Basis     located `yaml:"basis"`
	Look      look    `yaml:"look"`
	Measure   formula `yaml:"measure"`
	Unit      prose   `yaml:"unit"`
	Measured  prose   `yaml:"measured"`
	Expect    *band   `yaml:"expect"`
	Differs   *band   `yaml:"differs"`
	Also      *also   `yaml:"also"`
	Why       prose   `yaml:"why"`
	Doubted   bool    `yaml:"doubted"`
	Exact     bool    `yaml:"exact"` // no seed changes the measure

	Name prose // its key
}

// look is how a claim was looked at before it counted.
type look struct {
	Read  located `yaml:"read"`  // how much of the source
	At    located `yaml:"at"`    // page or section
	Quote located `yaml:"quote"` // word for word
	Turns located `yaml:"turns"` // parameters that turn the verdict
}

// band is what a claim expects.
type band struct {
	Exactly       formula       `yaml:"exactly"`
	AtLeast       formula       `yaml:"at_least"`
	AtMost        formula       `yaml:"at_most"`
	Above         formula       `yaml:"above"`
	Below         formula       `yaml:"below"`
	Between       list[formula] `yaml:"between"`
	Within        list[formula] `yaml:"within"`         // a number and a tolerance
	WithinPercent list[formula] `yaml:"within_percent"` // a number and a tolerance in %
	Printed       formula       `yaml:"printed"`        // ± 10 %, the rule for printed numbers
	PrintedRange  list[formula] `yaml:"printed_range"`
	Holds         formula       `yaml:"holds"` // a condition, which text describes
	Unit          prose         `yaml:"unit"`
	Text          prose         `yaml:"text"`
	AsPrinted     bool          `yaml:"as_printed"` // the inequality is printed so
}

// also is a condition without which a claim is not reproduced, behind what it expects.
type also struct {
	Holds formula `yaml:"holds"`
	Text  prose   `yaml:"text"`
}

// note is a paragraph.
type note struct {
	For  formula `yaml:"for"` // a list; a note for each value, with item and index
	When formula `yaml:"when"`
	Text prose   `yaml:"text"`
	// Warning says what keeps the results from being taken as they are.
	Warning bool `yaml:"warning"`
}

// table is a table of figures.yaml.
type table struct {
	For     formula         `yaml:"for"` // a list; a table for each value, with item and index
	Title   prose           `yaml:"title"`
	When    formula         `yaml:"when"`
	Rows    string          `yaml:"rows"` // groups in the place of the study's rows
	Where   formula         `yaml:"where" rows:""`
	Each    list[string]    `yaml:"each"`            // a line for each value of these columns
	Rising  bool            `yaml:"rising"`          // in rising order of the first of them
	Above   list[constants] `yaml:"above"`           // lines of constants before the others
	Data    formula         `yaml:"data"`            // whether it is for programs, in a file
	Columns ordered[column] `yaml:"columns" rows:""` // by heading

	Name prose // its key
}

// constants are the values of a line, such as published ones.
type constants list[formula]

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *constants) UnmarshalYAML(n *yaml.Node) error { return strict(n, (*list[formula])(c)) }

// column is a column of a table: a formula; or three, of a value and its interval; or columns, for
// each value of a list with item and index if it has one.
type column struct {
	Heading  prose           `yaml:"heading"` // in the place of its key
	When     formula         `yaml:"when"`    // without it the table has no such column
	Value    formula         `yaml:"value"`
	Interval formula         `yaml:"interval"`
	For      formula         `yaml:"for"`
	Columns  ordered[column] `yaml:"columns"` // for each value of the list, if there is one

	Shown prose // its heading or key
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *column) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return c.Value.UnmarshalYAML(n)
	}
	type fields column
	return strict(n, (*fields)(c))
}

// graph is a figure of figures.yaml, or one for each panel.
type graph struct {
	Like    string       `yaml:"like"` // another figure, whose keys hold where this one has none
	For     formula      `yaml:"for"`  // a list; a figure for each value, with item and index
	Title   prose        `yaml:"title"`
	Caption prose        `yaml:"caption"`
	When    formula      `yaml:"when"`
	X       axis         `yaml:"x"`
	Y       axis         `yaml:"y"`
	Marks   list[mark]   `yaml:"marks"`
	Series  list[series] `yaml:"series"`
	// Panels draw the series with other values, in figures of their own: NAME-PANEL.
	Panels ordered[panel] `yaml:"panels"`
	Grid   *grid          `yaml:"grid"` // in the place of series

	Name prose // its key
}

// panel is what a figure of several has of its own.
type panel struct {
	Title   prose      `yaml:"title"` // behind that of the figure
	Caption prose      `yaml:"caption"`
	Value   formula    `yaml:"value" series:""` // along y
	Y       axis       `yaml:"y"`
	Marks   list[mark] `yaml:"marks"`
}

// grid is a map: a cell for each value of two columns, coloured by a number or by a class.
type grid struct {
	Rows    string  `yaml:"rows"` // groups in the place of the study's rows
	Where   formula `yaml:"where" rows:""`
	Across  string  `yaml:"across"`          // column from left to right
	Up      string  `yaml:"up"`              // column from the bottom up
	Value   formula `yaml:"value" rows:""`   // a number, or
	Class   formula `yaml:"class" rows:""`   // one of classes,
	Classes formula `yaml:"classes" rows:""` // a list of texts
	Text    prose   `yaml:"text" rows:""`    // in the cell
	Log     formula `yaml:"log"`             // whether colours follow the logarithm
	From    formula `yaml:"from"`            // the number of the first colour, and of the last
	To      formula `yaml:"to"`
	Labels  labels  `yaml:"labels" rows:""` // the default is the values
}

// labels are the labels of a grid's columns and rows.
type labels struct {
	Across prose `yaml:"across"`
	Up     prose `yaml:"up"`
}

type axis struct {
	Label prose   `yaml:"label"`
	Ticks prose   `yaml:"ticks"` // labels of an axis of categories: x of the series is left out
	Log   formula `yaml:"log"`   // whether it is logarithmic
	From  formula `yaml:"from"`
	To    formula `yaml:"to"`
}

type mark struct {
	For   formula `yaml:"for"` // a list; a mark for each value, with item and index
	Label prose   `yaml:"label"`
	X     formula `yaml:"x"`
	Y     formula `yaml:"y"`
}

// series is lines over rows, one for each value of the columns in lines, or the line of a function.
type series struct {
	For    formula      `yaml:"for"` // a list; series for each value, with item and index
	Series list[series] `yaml:"series"`
	Name   prose        `yaml:"name" rows:""`
	Kind   figure.Kind  `yaml:"kind"`
	Dashed formula      `yaml:"dashed" rows:""`
	Group  formula      `yaml:"group" rows:""`  // a column of lines that share a colour, or a number
	Marker formula      `yaml:"marker" rows:""` // the same for signs
	Rows   string       `yaml:"rows"`           // groups in the place of the study's rows
	Where  formula      `yaml:"where" rows:""`
	Lines  list[string] `yaml:"lines"`
	Over   string       `yaml:"over"` // the column along x; of a function, the name of its variable
	X      formula      `yaml:"x" rows:""`
	Y      formula      `yaml:"y" rows:""`
	Law    formula      `yaml:"law" rows:""`   // what y should be: a dashed line next to each
	Tail   formula      `yaml:"tail" rows:""`  // in the place of y: share of its sum from x on
	Share  formula      `yaml:"share" rows:""` // in the place of x and y: share of rows up to a number
	Points int          `yaml:"points"`        // of share: about how many of them are drawn
	From   formula      `yaml:"from" rows:""`  // of a function: the first and last value, and the step
	To     formula      `yaml:"to" rows:""`
	Step   formula      `yaml:"step" rows:""`
	At     formula      `yaml:"at" rows:""` // or a list of its values
}
