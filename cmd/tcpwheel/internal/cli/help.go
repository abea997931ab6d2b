package cli

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fitHelp keeps the help of a command and of its subcommands within 80 columns.
func fitHelp(cmd *cobra.Command) {
	usage := cmd.UsageFunc()
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		// Not by a template: text/template calls methods by name, so the linker would keep every
		// exported method of every type, 6 MB.
		var b strings.Builder
		out := cmd.OutOrStderr()
		cmd.SetOut(&b)
		err := usage(cmd)
		cmd.SetOut(out)
		text := b.String()
		for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
			if long := strings.TrimRight(flags.FlagUsages(), "\n"); long != "" {
				text = strings.Replace(text, long, strings.TrimRight(flags.FlagUsagesWrapped(terminalColumns), "\n"), 1)
			}
		}
		io.WriteString(out, text)
		return err
	})
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
