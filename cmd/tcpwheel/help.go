package main

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// fitHelp keeps the help of a command, and of those below it, within 80 columns: paragraphs that are wider are filled anew, and what flags
// do is wrapped.
func fitHelp(cmd *cobra.Command) {
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	fitLong(cmd)
}

func fitLong(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = fillParagraph(p)
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		fitLong(sub)
	}
}

// fillParagraph breaks a paragraph that is wider than 80 columns between words. One with lines that begin with a blank, as lists do, stays
// as it is.
func fillParagraph(text string) string {
	wide := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, " ") {
			return text
		}
		wide = wide || utf8.RuneCountInString(line) > terminalColumns
	}
	if !wide {
		return text
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > terminalColumns:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
