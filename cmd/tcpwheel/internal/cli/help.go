package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// fitHelp keeps the help of a command and of its subcommands within 80 columns.
func fitHelp(cmd *cobra.Command) {
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = fitLong(cmd.Long)
		help(cmd, args)
	})
}

func fitLong(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = fillParagraph(p)
	}
	return strings.Join(paragraphs, "\n\n")
}

// fillParagraph refills a paragraph wider than 80 columns. Lists, whose lines begin with a blank,
// stay unchanged.
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
