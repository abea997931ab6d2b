package cli

import (
	"fmt"
	"io"
	"strings"

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
		if long := strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n"); long != "" {
			text = strings.Replace(text, long, flagHelp(cmd.LocalFlags()), 1)
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

// helpLines is how many lines the help of a command has at most: a screen.
const helpLines = 40

// flagGroup is the annotation of a flag with the heading that it is listed under in the help, and
// with the topic of the help that describes the flags of the group; "" is none.
const flagGroup = "group"

// addGroup adds the flags that register adds, under a heading of their own. The help of the command
// has only the names of flags that a topic describes.
func addGroup(fs *pflag.FlagSet, heading, topic string, register func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	group.SortFlags = false
	register(group)
	group.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{flagGroup: {heading, topic}}
		fs.AddFlag(f)
	})
}

// describedBy lists the flags of a command that a topic of the help describes.
func describedBy(topic string, cmd *cobra.Command) string {
	described := pflag.NewFlagSet(topic, pflag.ContinueOnError)
	described.SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if of := f.Annotations[flagGroup]; len(of) > 0 && of[1] == topic {
			described.AddFlag(f)
		}
	})
	return "Flags of " + cmd.Name() + ":\n" + described.FlagUsagesWrapped(terminalColumns)
}

// flagHelp lists flags within 80 columns, and then those of each group.
func flagHelp(flags *pflag.FlagSet) string {
	headings, groups := []string{""}, map[string]*pflag.FlagSet{"": pflag.NewFlagSet("", pflag.ContinueOnError)}
	topics, names := map[string]string{}, map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		heading, topic := "", ""
		if of := f.Annotations[flagGroup]; len(of) > 0 {
			heading, topic = of[0], of[1]
		}
		if groups[heading] == nil {
			headings = append(headings, heading)
			groups[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		groups[heading].AddFlag(f)
		topics[heading] = topic
		names[heading] += " --" + f.Name
	})
	var b strings.Builder
	for i, heading := range headings {
		groups[heading].SortFlags = flags.SortFlags
		if topic := topics[heading]; topic != "" {
			lines := wrapped(names[heading], terminalColumns-2)
			fmt.Fprintf(&b, "\n\n%s (tcpwheel help %s):\n  %s", heading, topic, strings.Join(lines, "\n  "))
			continue
		}
		if i > 0 {
			b.WriteString("\n\n" + heading + ":\n")
		}
		b.WriteString(strings.TrimRight(groups[heading].FlagUsagesWrapped(terminalColumns), "\n"))
	}
	return b.String()
}

func fitLong(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = fillParagraph(p)
	}
	return strings.Join(paragraphs, "\n\n")
}

// fillParagraph refills a paragraph. Lists, whose lines begin with a blank, stay unchanged.
func fillParagraph(text string) string {
	if strings.Contains("\n"+text, "\n ") {
		return text
	}
	return strings.Join(wrapped(text, terminalColumns), "\n")
}

// term is a line of a topic.
type term struct{ name, meaning string }

// listTerms formats terms under a heading.
func listTerms(title string, terms []term) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", title)
	wide := 0
	for _, t := range terms {
		wide = max(wide, width(t.name))
	}
	for _, t := range terms {
		for i, line := range wrapped(t.meaning, terminalColumns-wide-4) {
			if i > 0 {
				t.name = ""
			}
			fmt.Fprintf(&b, "  %-*s  %s\n", wide, t.name, line)
		}
	}
	return b.String()
}
