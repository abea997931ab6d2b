package cli

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// terminalColumns is the maximal width of the output.
const terminalColumns = 80

// gap is the space between columns.
const gap = 2

// writeColumns prints a table, at most 80 columns wide if its words allow. It wraps heads and
// words. Columns that do not fit follow in another block, with the first column repeated. flush
// marks columns that are aligned right; nil is none.
func writeColumns(w io.Writer, head []string, rows [][]string, flush []bool) error {
	if flush == nil {
		flush = make([]bool, len(head))
	}
	natural := make([]int, len(head)) // width of the cells
	least := make([]int, len(head))   // width to which a column can be wrapped
	for c, h := range head {
		natural[c], least[c] = longestWord(h), longestWord(h)
		for _, r := range rows {
			natural[c] = max(natural[c], width(r[c]))
			if flush[c] {
				least[c] = max(least[c], width(r[c]))
			} else {
				least[c] = max(least[c], min(longestWord(r[c]), terminalColumns/2))
			}
		}
	}
	var b bytes.Buffer
	for first := 0; first < len(head); {
		columns := []int{}
		if first > 0 {
			columns = append(columns, 0)
			b.WriteString("\n")
		}
		used := -gap
		for _, c := range columns {
			used += gap + comfortable(natural[c], least[c], flush[c])
		}
		n := len(columns)
		for first < len(head) {
			need := gap + comfortable(natural[first], least[first], flush[first])
			if used+need > terminalColumns && len(columns) > n {
				break
			}
			used += need
			columns = append(columns, first)
			first++
		}
		writeBlock(&b, head, rows, flush, columns, fit(head, columns, natural, least))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// comfortable is the least width of a column before others are wrapped in its place.
func comfortable(natural, least int, flush bool) int {
	if flush {
		return natural
	}
	return max(least, min(natural, 24))
}

// fit sets the widths of a block's columns. The widest shrink if they do not fit; heads widen if
// there is room.
func fit(head []string, columns, natural, least []int) []int {
	widths := make([]int, len(columns))
	sum := gap * (len(columns) - 1)
	for i, c := range columns {
		widths[i] = natural[c]
		sum += natural[c]
	}
	for sum > terminalColumns {
		widest := -1
		for i, c := range columns {
			if widths[i] > least[c] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		sum--
	}
	for grown := true; grown; {
		grown = false
		for i, c := range columns {
			if sum < terminalColumns && widths[i] < width(head[c]) {
				widths[i]++
				sum++
				grown = true
			}
		}
	}
	return widths
}

func writeBlock(b *bytes.Buffer, head []string, rows [][]string, flush []bool, columns, widths []int) {
	var heads [][]string
	deep := 0
	for i, c := range columns {
		lines := wrapped(head[c], widths[i])
		heads = append(heads, lines)
		deep = max(deep, len(lines))
	}
	for i := range heads { // align the last lines
		for len(heads[i]) < deep {
			heads[i] = slices.Insert(heads[i], 0, "")
		}
	}
	writeLines(b, heads, flush, columns, widths)
	for _, r := range rows {
		var cells [][]string
		for i, c := range columns {
			cells = append(cells, wrapped(r[c], widths[i]))
		}
		writeLines(b, cells, flush, columns, widths)
	}
}

// writeLines prints a row of cells that have several lines.
func writeLines(b *bytes.Buffer, cells [][]string, flush []bool, columns, widths []int) {
	deep := 0
	for _, c := range cells {
		deep = max(deep, len(c))
	}
	for n := range deep {
		line := ""
		for i, c := range cells {
			text := ""
			if n < len(c) {
				text = c[n]
			}
			pad := strings.Repeat(" ", max(widths[i]-width(text), 0))
			if i > 0 {
				line += strings.Repeat(" ", gap)
			}
			if flush[columns[i]] {
				line += pad + text
			} else {
				line += text + pad
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func width(s string) int { return utf8.RuneCountInString(s) }

func longestWord(s string) (n int) {
	for _, w := range strings.Fields(s) {
		n = max(n, width(w))
	}
	return n
}

// wrapped breaks text into lines of words. A word that is too long is a line of its own.
func wrapped(text string, most int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && width(line)+1+width(w) > most {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// writeWrapped prints a paragraph. Lines after the first begin with indent.
func writeWrapped(b *bytes.Buffer, indent, text string) {
	first := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for i, line := range wrapped(text, terminalColumns-max(len(indent), len(first))) {
		if i > 0 {
			first = indent
		}
		b.WriteString(first + line + "\n")
	}
}

// writeProse wraps the paragraphs and lists of a Markdown text, and prints the rest unchanged.
func writeProse(b *bytes.Buffer, text string) {
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		switch {
		case strings.HasPrefix(block, "- "):
			for item := range strings.SplitSeq("\n"+block, "\n- ") {
				if item != "" {
					writeWrapped(b, "  ", "- "+item)
				}
			}
		case block != "" && !strings.ContainsRune("#|`< \t", rune(block[0])):
			writeWrapped(b, "", block)
		default:
			b.WriteString(block + "\n")
		}
		b.WriteString("\n")
	}
}
