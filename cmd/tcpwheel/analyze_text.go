package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pages "tcpwheel/pcaps/report"
)

// shortSpan returns a span with three digits and its unit, as "631 ms".
func shortSpan(d time.Duration) string { return pages.SpanText(d) }

// octetText returns so many octets with three digits and their unit.
func octetText(n int64) string { return pages.BytesText(n) }

// plural returns the number with its noun, to whose first word an s is added for more than one.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	head, tail, more := strings.Cut(noun, " ")
	switch {
	case head == "TCP" || head == "delayed" || head == "zero" || head == "window" || head == "loss": // the noun is the second word
		return fmt.Sprintf("%d %s %ss", n, head, tail)
	case more:
		return fmt.Sprintf("%d %ss %s", n, head, tail)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// joined returns the names by how often they were counted, as "sender 3, receiver 1".
func joined(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(counts[name])
	}
	return strings.Join(names, ", ")
}

// wrapText writes items behind a head, with commas between, in lines of at most 80 columns of which further ones are indented.
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
