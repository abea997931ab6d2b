package cli

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// terminalColumns is the maximal width of the output.
const terminalColumns = 80

// gap is the space between columns.
const gap = 2

// writeColumns prints a table. Columns of words share what the others leave of 80 columns, and wrap.
// flush marks columns that are aligned right; nil is none.
func writeColumns(w io.Writer, head []string, rows [][]string, flush []bool) error {
	if flush == nil {
		flush = make([]bool, len(head))
	}
	all := append([][]string{head}, rows...)
	widths, left, wide := make([]int, len(head)), terminalColumns+gap, 0
	for c := range head {
		for _, r := range all {
			widths[c] = max(widths[c], width(r[c]))
		}
		if !flush[c] && widths[c] > leastWords {
			wide++
			left -= gap
		} else {
			left -= gap + widths[c]
		}
	}
	var b bytes.Buffer
	for _, r := range all {
		cells, deep := make([][]string, len(r)), 0
		for c, text := range r {
			if !flush[c] && widths[c] > leastWords {
				widths[c] = min(widths[c], max(left/wide, leastWords))
			}
			cells[c] = wrapped(text, widths[c])
			deep = max(deep, len(cells[c]))
		}
		for n := range deep {
			line := ""
			for c, lines := range cells {
				text := ""
				if n < len(lines) {
					text = lines[n]
				}
				pad := strings.Repeat(" ", max(widths[c]-width(text), 0))
				if flush[c] {
					text = pad + text
				} else {
					text += pad
				}
				line += text + strings.Repeat(" ", gap)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// leastWords is the width that a column of words gets if there are many.
const leastWords = 24

func width(s string) int { return utf8.RuneCountInString(s) }

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
