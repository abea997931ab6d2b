package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	pages "tcpwheel/pcaps/report"
	"tcpwheel/pcaps/track"
)

// shortSpan returns a span with three digits and its unit, as "631 ms".
func shortSpan(d time.Duration) string { return pages.SpanText(d) }

// octetText returns so many octets with three digits and their unit.
func octetText(n int64) string { return pages.OctetText(n) }

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

// csvHeader returns the names of an EpisodeRecord's fields, but for its type.
func csvHeader() (names []string) {
	t := reflect.TypeFor[track.EpisodeRecord]()
	for i := 1; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// csvRow returns the fields, those that are not known as empty text, and several packets with blanks between.
func csvRow(r *track.EpisodeRecord) (row []string) {
	v := reflect.ValueOf(r).Elem()
	for i := 1; i < v.NumField(); i++ {
		f := v.Field(i)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				row = append(row, "")
				continue
			}
			f = f.Elem()
		}
		switch f.Kind() {
		case reflect.Slice:
			row = append(row, strings.Trim(fmt.Sprint(f.Interface()), "[]"))
		case reflect.Float64:
			row = append(row, strconv.FormatFloat(f.Float(), 'g', -1, 64))
		default:
			row = append(row, fmt.Sprint(f.Interface()))
		}
	}
	return row
}
