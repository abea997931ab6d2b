package report

import (
	"cmp"
	"fmt"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
)

// writeRows writes what a row of a study is, and its columns: what the expressions in claims.yaml
// and figures.yaml are about.
func writeRows(b *strings.Builder, s *experiments.Study) {
	b.WriteString("\n")
	prose(b, "", "**Rows.** "+sentence(s.Rows())+" Expressions in claims.yaml and figures.yaml use these columns, keys "+
		"of plan.yaml, and names that they define.")
	b.WriteString("\n| column | is | what |\n|---|---|---|\n")
	for _, c := range declared.Columns(s.Row()) {
		is := c.Kind
		if c.Unit != "" {
			is += ", " + c.Unit
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.Name, inTable(is), inTable(cmp.Or(c.Help, "–")))
	}
}
