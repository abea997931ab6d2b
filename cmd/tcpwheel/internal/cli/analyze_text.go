package cli

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

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
