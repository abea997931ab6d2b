package declared

import (
	"errors"
	"fmt"
	"slices"

	"tcpwheel/pcaps/figure"
)

// grid returns a map of the values of two columns; nil if a pair of them has no rows to measure.
func (s *scope) grid(from *grid) (*figure.Map, error) {
	line := max(from.Value.line, from.Class.line)
	in, err := s.rowsWhere(from.Rows, from.Where)
	if err != nil {
		return nil, err
	}
	made := &figure.Map{}
	if from.Log.set() {
		if made.Log, err = s.yes(from.Log.tree); err != nil {
			return nil, atLine(from.Log.line, err)
		}
	}
	for _, end := range []struct {
		from formula
		to   *float64
	}{{from.From, &made.Lo}, {from.To, &made.Hi}} {
		if end.from.set() {
			if *end.to, err = s.floatOf(end.from.tree); err != nil {
				return nil, atLine(end.from.line, err)
			}
		}
	}
	var classes []any
	if from.Classes.set() {
		if classes, err = argument[[]any](in, from.Classes.tree); err != nil {
			return nil, atLine(from.Classes.line, err)
		}
		for _, c := range classes {
			made.Classes = append(made.Classes, show(c))
		}
	}
	across, err := in.groups([]string{from.Across}, nil)
	if err != nil {
		return nil, atLine(line, err)
	}
	up, err := in.groups([]string{from.Up}, nil)
	if err != nil {
		return nil, atLine(line, err)
	}
	if len(across) == 0 {
		return nil, nil
	}
	rising(across)
	rising(up)
	for _, axis := range []struct {
		of     []group
		label  prose
		labels *[]string
	}{{across, from.Labels.Across, &made.Columns}, {up, from.Labels.Up, &made.Rows}} {
		for _, g := range axis.of {
			text := show(g.key[0])
			if axis.label.text() != "" {
				if text, err = g.scope.text(axis.label.template); err != nil {
					return nil, atLine(axis.label.line, err)
				}
			}
			*axis.labels = append(*axis.labels, text)
		}
	}
	for _, row := range up {
		cells, err := row.scope.groups([]string{from.Across}, nil)
		if err != nil {
			return nil, err
		}
		if len(cells) != len(across) {
			return nil, nil
		}
		rising(cells)
		if err := addRow(made, from, cells); errors.Is(err, errNoRows) {
			return nil, nil
		} else if err != nil {
			return nil, atLine(line, err)
		}
	}
	return made, nil
}

// addRow adds the cells of a row.
func addRow(made *figure.Map, from *grid, cells []group) error {
	var values []float64
	var classes []int
	var texts []string
	for _, cell := range cells {
		if from.Class.set() {
			class, err := argument[string](cell.scope, from.Class.tree)
			if err != nil {
				return err
			}
			k := slices.Index(made.Classes, class)
			if k < 0 {
				return fmt.Errorf("class %q, want one of classes, %q", class, made.Classes)
			}
			classes = append(classes, k)
		} else {
			x, err := cell.scope.floatOf(from.Value.tree)
			if err != nil {
				return err
			}
			values = append(values, x)
		}
		text, err := cell.scope.text(from.Text.template)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	if from.Class.set() {
		made.Class = append(made.Class, classes)
	} else {
		made.Value = append(made.Value, values)
	}
	if from.Text.text() != "" {
		made.Text = append(made.Text, texts)
	}
	return nil
}
