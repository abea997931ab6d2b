package figure

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"
)

// WriteCSV writes the data of the figure: a line for each point with its interval, if any series
// has intervals, for each mark, or for each cell of a map. The head has the labels of the axes.
// Numbers keep all their digits.
func (f *Figure) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if f.Map != nil {
		f.Map.writeCSV(c, f)
	} else {
		f.writeSeries(c)
	}
	c.Flush()
	return c.Error()
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// place returns the name of a category, or formats a value.
func (a *Axis) place(v float64, format func(float64) string) string {
	if n := int(math.Round(v)); n >= 0 && n < len(a.Ticks) && float64(n) == v {
		return a.Ticks[n]
	}
	return format(v)
}

func (f *Figure) writeSeries(c *csv.Writer) {
	head, bounds := []string{"series", f.X.Label, f.Y.Label}, false
	for _, s := range f.Series {
		bounds = bounds || s.Lo != nil
	}
	if bounds {
		head = append(head, "from", "to")
	}
	// c keeps the error.
	c.Write(head)
	for _, s := range f.Series {
		for i := range s.X {
			row := []string{s.Name, f.X.place(s.X[i], exact), f.Y.place(s.Y[i], exact)}
			if s.Lo != nil {
				row = append(row, exact(s.Lo[i]), exact(s.Hi[i]))
			} else if bounds {
				row = append(row, "", "")
			}
			c.Write(row)
		}
	}
	for _, m := range f.Marks {
		row := []string{"mark: " + m.Label, "", exact(m.At)}
		if m.Vertical {
			row[1], row[2] = row[2], ""
		}
		if bounds {
			row = append(row, "", "")
		}
		c.Write(row)
	}
}

func (m *Map) writeCSV(c *csv.Writer, f *Figure) {
	head := []string{f.X.Label, f.Y.Label, "value"}
	if m.Text != nil {
		head = append(head, "text")
	}
	c.Write(head)
	for r, name := range m.Rows {
		for k, column := range m.Columns {
			row := []string{column, name, ""}
			if m.Value != nil {
				row[2] = exact(m.Value[r][k])
			} else {
				row[2] = m.Classes[m.Class[r][k]]
			}
			if m.Text != nil {
				row = append(row, m.Text[r][k])
			}
			c.Write(row)
		}
	}
}
