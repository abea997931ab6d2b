package declared

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
