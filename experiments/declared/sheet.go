package declared

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"tcpwheel/experiments/plan"
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
	bare                    bool // without figures.yaml
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

// Read reads claims.yaml and figures.yaml of a folder. An error names file, line and key.
func Read(files fs.FS, folder string) (*Sheet, error) {
	s := &Sheet{functions: map[string]function{}, claimsFile: path.Join(folder, "claims.yaml"),
		figuresFile: path.Join(folder, "figures.yaml")}
	var c claimsYAML
	if err := readFile(files, s.claimsFile, &c); err != nil {
		return nil, err
	}
	var f figuresYAML
	if err := readFile(files, s.figuresFile, &f); errors.Is(err, fs.ErrNotExist) {
		s.bare = true
	} else if err != nil {
		return nil, err
	}
	s.let, s.groups, s.claims, s.notes, s.tables, s.figures = c.Let, c.Groups, c.Claims, c.Notes, f.Tables, f.Figures
	s.question, s.found, s.rows = c.Question.text, c.Found, c.Rows.text
	err := named(s.claimsFile, s.claims, func(c *claim, name prose) error { c.Name = name; return nil })
	if err == nil {
		err = named(s.figuresFile, s.figures, func(g *graph, name prose) error { g.Name = name; return nil })
	}
	if err == nil {
		err = named(s.figuresFile, s.tables, func(t *table, name prose) error {
			t.Name = name
			return headings(t.Columns)
		})
	}
	if err != nil {
		return nil, err
	}
	for _, e := range c.Functions {
		if err := s.define(e); err != nil {
			return nil, inFile(s.claimsFile, within("functions", err))
		}
	}
	if err := inherit(s.claims, "claim", func(c *claim) string { return c.Like }); err != nil {
		return nil, inFile(s.claimsFile, within("claims", err))
	}
	if err := inherit(s.figures, "figure", func(g *graph) string { return g.Like }); err != nil {
		return nil, inFile(s.figuresFile, within("figures", err))
	}
	return s, nil
}

// named gives entries their keys, which may be templates.
func named[T any](file string, all ordered[T], set func(of *T, name prose) error) error {
	for i := range all {
		e := &all[i]
		name, err := parseTemplate(e.name)
		if err == nil {
			err = set(&e.of, prose{located{e.line, e.name}, name})
		}
		if err != nil {
			return inFile(file, within(e.name, atLine(e.line, err)))
		}
	}
	return nil
}

// headings gives columns their headings.
func headings(all ordered[column]) error {
	return named("", all, func(c *column, name prose) error {
		if c.Shown = name; c.Heading.text() != "" {
			c.Shown = c.Heading
		}
		return headings(c.Columns)
	})
}

func readFile(files fs.FS, name string, into any) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return plan.Syntax(name, err)
	}
	if len(doc.Content) != 1 {
		return fmt.Errorf("%s: empty, want a mapping", name)
	}
	if err := strict(doc.Content[0], into); err != nil {
		return inFile(name, err)
	}
	return nil
}

var signature = regexp.MustCompile(`^([a-z][a-z0-9_]*)\(([a-z0-9_, ]*)\)$`)

// define adds a function such as "model(t): …".
func (s *Sheet) define(e entry[formula]) error {
	m := signature.FindStringSubmatch(e.name)
	if m == nil {
		return lineError(e.line, fmt.Sprintf("%s: want a name and parameters, such as model(t)", e.name))
	}
	if _, ok := operatorNamed(m[1]); ok {
		return lineError(e.line, m[1]+": an operator has that name")
	}
	f := function{body: e.of.expression, line: e.line}
	for _, p := range strings.Split(m[2], ",") {
		if p = strings.TrimSpace(p); p != "" {
			f.params = append(f.params, p)
		}
	}
	s.functions[m[1]] = f
	return nil
}

// inherit gives entries that are like others what they lack.
func inherit[T any](all ordered[T], what string, like func(*T) string) error {
	for i := range all {
		c := &all[i]
		name := like(&c.of)
		if name == "" {
			continue
		}
		k := slices.IndexFunc(all[:i], func(e entry[T]) bool { return e.name == name })
		if k < 0 {
			return lineError(c.line, fmt.Sprintf("%s: like: %q, want a %s above", c.name, name, what))
		}
		fill(&c.of, &all[k].of)
	}
	return nil
}

// names are the names that expressions of a sheet may use.
type names struct {
	sheet   *Sheet
	values  map[string]bool // of the plan and let
	named   map[string]any  // those of the plan
	columns []string        // of the rows in sight
}

// in returns the names that are known where the rows are those of groups, "" for the study's.
func (n *names) in(groups string) (*names, error) {
	if groups == "" {
		return n, nil
	}
	var all []string
	for _, e := range n.sheet.groups {
		if e.name == groups {
			return &names{n.sheet, n.values, n.named, e.of.columns()}, nil
		}
		all = append(all, e.name)
	}
	return nil, fmt.Errorf("%s: no such groups%s, want one of %s", groups, nearest(groups, all), strings.Join(all,
		", "))
}

// columns are the columns of the groups as rows.
func (g *groupRows) columns() []string {
	all := slices.Clone([]string(g.Each))
	for _, m := range g.Measures {
		all = append(all, m.name)
	}
	return all
}

// Check checks that all names of the sheet are known: keys of the plan, columns, let, functions
// and operators. plan is a pointer to a plan, and columns are those of its rows. A column hides a
// key of the same name, which is then plan.KEY.
func (s *Sheet) Check(plan any, columns []Column) error {
	n := &names{sheet: s, values: map[string]bool{"true": true, "false": true}, named: planValues(plan)}
	for name := range n.named {
		n.values[name] = true
	}
	for _, c := range columns {
		n.columns = append(n.columns, c.Name)
	}
	for _, e := range s.let {
		err := n.formula(e.of)
		if err == nil {
			err = atLine(e.of.line, n.measures(e.of.tree))
		}
		if slices.Contains(n.columns, e.name) {
			err = lineError(e.line, "a column has that name")
		}
		if err != nil {
			return inFile(s.claimsFile, within("let: "+e.name, err))
		}
		n.values[e.name] = true
	}
	for _, e := range s.groups {
		if err := n.group(&e.of); err != nil {
			return inFile(s.claimsFile, within("groups: "+e.name, atLine(e.line, err)))
		}
	}
	// A function may be for rows of groups too.
	all := &names{s, n.values, n.named, slices.Clone(n.columns)}
	for _, e := range s.groups {
		all.columns = append(all.columns, e.of.columns()...)
	}
	for name, f := range s.functions {
		if err := all.check(f.body.tree, f.params); err != nil {
			return inFile(s.claimsFile, within("functions: "+name, atLine(f.line, err)))
		}
	}
	if err := s.checkFound(); err != nil {
		return inFile(s.claimsFile, err)
	}
	if err := n.file(map[string]parts{"claims": &s.claims, "notes": &s.notes}); err != nil {
		return inFile(s.claimsFile, err)
	}
	if err := n.file(map[string]parts{"tables": &s.tables, "figures": &s.figures}); err != nil {
		return inFile(s.figuresFile, err)
	}
	return nil
}

// braced finds what is shown in a finding: {claim}, or {claim#}.
var braced = regexp.MustCompile(`\{([^{}]*?)#?\}`)

// checkFound finds claims that the finding shows and the file does not have.
func (s *Sheet) checkFound() error {
	var all []string
	for _, e := range s.claims {
		if all = append(all, e.name); e.of.For.set() {
			return nil // its names are known when the plan is
		}
	}
	for _, m := range braced.FindAllStringSubmatch(s.found.text, -1) {
		if !slices.Contains(all, m[1]) {
			return lineError(s.found.line, fmt.Sprintf("found: %s: no such claim%s, want one of %s", m[0],
				nearest(m[1], all), strings.Join(all, ", ")))
		}
	}
	return nil
}

func (n *names) formula(f formula, locals ...string) error {
	if !f.set() {
		return nil
	}
	return atLine(f.line, n.check(f.tree, locals))
}

func (n *names) prose(p prose, locals ...string) error {
	for _, piece := range p.pieces {
		if e, ok := piece.(expression); ok {
			if err := n.check(e.tree, locals); err != nil {
				return atLine(p.line, err)
			}
		}
	}
	return nil
}

// check finds names that are not known, calls of operators that do not exist, and calls with the
// wrong number of arguments.
func (n *names) check(tree ast.Expr, locals []string) (err error) {
	ast.Inspect(tree, func(x ast.Node) bool {
		if err != nil {
			return false
		}
		switch x := x.(type) {
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "plan" && !n.values[x.Sel.Name] {
				err = fmt.Errorf("plan.%s: no such key of the plan%s", x.Sel.Name, nearest(x.Sel.Name,
					slices.Sorted(maps.Keys(n.values))))
			} else {
				err = n.check(x.X, locals)
			}
			return false
		case *ast.CallExpr:
			err = n.call(x, locals)
			return false
		case *ast.BasicLit:
			if x.Kind != token.STRING {
				return true
			}
			var t template
			text, terr := strconv.Unquote(x.Value)
			if terr == nil {
				t, terr = parseTemplate(text)
			}
			if err = terr; err == nil {
				err = n.prose(prose{template: t}, locals...)
			}
		case *ast.Ident:
			if !n.values[x.Name] && !slices.Contains(n.columns, x.Name) && !slices.Contains(locals, x.Name) {
				all := append(slices.Sorted(maps.Keys(n.values)), n.columns...)
				meant := nearest(x.Name, all)
				if meant == "" {
					meant = fmt.Sprintf(", and a text has quotes: '%s'.", x.Name)
				}
				err = fmt.Errorf("%s: no such name%s Known are the columns %s, and of the plan and let %s", x.Name, meant,
					strings.Join(n.columns, ", "), strings.Join(slices.Sorted(maps.Keys(n.values)), ", "))
			}
		}
		return true
	})
	return err
}

// group checks groups. Their measures see the columns of the study's rows.
func (n *names) group(g *groupRows) error {
	if err := n.columnsExist("each", g.Each); err != nil {
		return err
	}
	for _, m := range g.Measures {
		if err := n.formula(m.of); err != nil {
			return within(m.name, err)
		}
	}
	return n.formula(g.Where)
}

func (n *names) call(x *ast.CallExpr, locals []string) error {
	c, err := splitCall(x)
	if err != nil {
		return err
	}
	if f, ok := n.sheet.functions[c.name]; ok {
		if len(c.args) != len(f.params) || c.over != nil || c.where != nil {
			return fmt.Errorf("%s: want %s(%s)", c.name, c.name, strings.Join(f.params, ", "))
		}
	} else if op, ok := operatorNamed(c.name); !ok {
		var all []string
		for _, o := range operatorList {
			all = append(all, o.name())
		}
		return fmt.Errorf("%s: no such operator%s, want one of %s", c.name, nearest(c.name, all), strings.Join(all,
			", "))
	} else if op.args >= 0 && (len(c.args) < op.args || len(c.args) > op.args+op.more) || c.over != nil && !op.over ||
		c.where != nil && !op.perRows {
		return fmt.Errorf("%s: want %s", c.name, op.usage)
	}
	if n, err = n.in(c.in); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	for _, name := range c.over {
		if !slices.Contains(n.columns, name) {
			return fmt.Errorf("%s: over %s: no such column%s, want one of %s", c.name, name, nearest(name, n.columns),
				strings.Join(n.columns, ", "))
		}
	}
	for _, arg := range append(slices.Clone(c.args), c.where) {
		if arg == nil {
			continue
		}
		if err := n.check(arg, locals); err != nil {
			return err
		}
	}
	return nil
}
