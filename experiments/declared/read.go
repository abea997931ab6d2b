package declared

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"tcpwheel/experiments/plan"
)

// Read reads claims.yaml and figures.yaml of a folder. An error names file, line and key.
func Read(files fs.FS, folder string) (*Sheet, error) {
	s := &Sheet{functions: map[string]function{}, claimsFile: path.Join(folder, "claims.yaml"),
		figuresFile: path.Join(folder, "figures.yaml")}
	var c claimsYAML
	if err := readFile(files, s.claimsFile, &c); err != nil {
		return nil, err
	}
	var f figuresYAML
	if err := readFile(files, s.figuresFile, &f); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
