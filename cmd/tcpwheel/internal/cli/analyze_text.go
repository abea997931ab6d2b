package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	pages "tcpwheel/pcaps/report"
)

// byteText formats a number of bytes with three digits and its unit.
func byteText(n int64) string { return pages.BytesText(n) }

// joined returns the names by count: "sender 3, receiver 1".
func joined(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(counts[name])
	}
	return strings.Join(names, ", ")
}

// wrapText writes items after a head, separated by commas, in lines of at most 80 columns. Later
// lines are indented.
func wrapText(b *strings.Builder, head string, items []string) {
	b.WriteString(head)
	column := len(head)
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		n := utf8.RuneCountInString(item)
		switch {
		case i == 0:
		case column+1+n > 80:
			b.WriteString("\n  ")
			column = 2
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(item)
		column += n
	}
	b.WriteByte('\n')
}
