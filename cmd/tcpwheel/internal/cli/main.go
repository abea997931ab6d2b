// Package cli is the command line of tcpwheel: its commands, their flags, and what they print.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
)

// Exit statuses.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitViolation = 3
	exitCut       = 4
	exitNothing   = 5
)

// exitStatuses says what they mean, in a topic of the help and in docs/json.md.
var exitStatuses = []term{
	{"0", "it did what it was asked"},
	{"1", "it failed: a file cannot be read, a result cannot be written"},
	{"2", "the call is wrong; nothing ran"},
	{"3", "it ran and found what must not be: a scenario that fails, an exact claim that is not reproduced, losses that all cannot be replayed"},
	{"4", "a capture is cut short; what comes before the cut was reported"},
	{"5", "there is nothing to report: no TCP in the captures, no connection for --conn, --from and --to, no episode for --explain"},
}

// Main runs the command and ends the process with its exit status.
func Main() {
	collectLate()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run runs the command and returns the exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(args, stdin, stdout, stderr)
}

// run runs the command and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the process
	var help checkedWriter
	if asksForHelp(args) { // else a terminal stays one
		help.w, stdout = stdout, &help
	}
	return report(stderr, cmp.Or(newRoot(args, stdin, stdout, stderr).ExecuteContext(ctx), help.err))
}

// asksForHelp reports whether the arguments before "--" ask for help.
func asksForHelp(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return len(args) > 0 && args[0] == "help" || slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// checkedWriter keeps the first error of a writer: cobra prints help without looking at errors.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// exitError is an error with the exit status that it has, and what to do about it.
type exitError struct {
	err    error // nil: the process has said why it failed
	status int
	hint   string // "" for none
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }
func (e *exitError) Unwrap() error { return e.err }

// exit returns the error of a run that was told why it fails, or cannot do all that was asked for.
func exit(status int) error { return &exitError{status: status} }

// hinted returns err as the mistake of a caller, found before anything ran.
func hinted(err error, hint string) error { return &exitError{err, exitUsage, hint} }

// usage returns err as the mistake of the caller of cmd.
func usage(cmd *cobra.Command, err error) error {
	if e := (*exitError)(nil); errors.As(err, &e) {
		return err // it says what to do
	}
	if strings.Contains(err.Error(), "want ") {
		return hinted(err, "") // it says what is accepted
	}
	return hinted(err, fmt.Sprintf("see '%s --help'", cmd.CommandPath()))
}

// violation returns something that a command found and that must not be.
func violation(format string, args ...any) error {
	return &exitError{fmt.Errorf(format, args...), exitViolation, ""}
}

// nothing returns why there is nothing to report.
func nothing(why string) error { return &exitError{errors.New(why), exitNothing, ""} }

// report prints err and returns its exit status.
func report(stderr io.Writer, err error) int {
	e := &exitError{err: err, status: exitFailed}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e) && e.err == nil:
		return e.status
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "tcpwheel: error: %s\n", errorText(err))
	if program := programOfCaller(err); program != nil {
		return exitStatus(program)
	}
	if e.hint != "" {
		fmt.Fprintf(stderr, "tcpwheel: hint: %s\n", e.hint)
	}
	return e.status
}

// internalName is the name of a package in an error. A caller of the program knows none of them.
var internalName = regexp.MustCompile(`\b(?:tcptimers|wheelbench|lanes|tun|sim: link|sim): `)

// errorText is the text of an error without control characters other than its own ends of lines, and
// without names of packages.
func errorText(err error) string {
	text := err.Error()
	if p := (*fs.PathError)(nil); errors.As(err, &p) && p.Path != "" {
		text = strings.ReplaceAll(text, p.Path, quantity.Printable(p.Path))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = quantity.Printable(internalName.ReplaceAllString(line, ""))
	}
	return strings.Join(lines, "\n")
}

// didYouMean is a hint.
func didYouMean(likely ...string) string {
	return fmt.Sprintf("did you mean '%s'?", strings.Join(likely, "' or '"))
}

// exitStatus returns the exit status of a command that failed, as a shell does: 128 and more for a
// signal.
func exitStatus(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// command is a command that is not made yet.
type command struct {
	name string
	make func() *cobra.Command
}

// newRoot returns the program that is called with args. If the first of them is a command, it has
// only this one: to make all, with their flags, takes a tenth of the start.
func newRoot(args []string, stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-v") {
		args = append([]string{"version"}, args[1:]...)
	}
	root := &cobra.Command{
		Use:           "tcpwheel",
		Short:         "timing wheels, and a userspace TCP on top of them",
		Example:       "  tcpwheel demo\n  tcpwheel analyze sample:burst\n  tcpwheel wheel bench --schemes scheme6,runtime --n 1000",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(append([]string{}, args...)) // cobra takes nil as the process's arguments
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args) // the flag belongs to it
		}
		if likely, ok := suggestFlag(err, cmd.Flags()); ok {
			return hinted(err, didYouMean(likely))
		}
		return usage(cmd, flagError(err))
	})
	called := slices.IndexFunc(commands, func(c command) bool { return len(args) > 0 && args[0] == c.name })
	if called >= 0 {
		root.AddCommand(commands[called].make())
		root.CompletionOptions.DisableDefaultCmd = true
	} else {
		root.Long = `tcpwheel reports what the losses in a capture cost, and what they would have cost under other timers. It runs a userspace TCP with a timer for each segment, over TUN and in virtual time, and measures timing wheels.`
		for _, c := range commands {
			root.AddCommand(c.make())
		}
		root.AddCommand(newTopics()...)
		root.InitDefaultCompletionCmd()
		root.Flags().BoolP("version", "v", false, "version for tcpwheel")
	}
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	rejectWrongCalls(root)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		completeValues(root)
	}
	fitHelp(root)
	return root
}

// rejectWrongCalls makes wrong calls fail: cobra would print the help of a group and succeed.
func rejectWrongCalls(cmd *cobra.Command) {
	switch {
	case cmd.IsAdditionalHelpTopicCommand():
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = unknownCommand
		cmd.SuggestionsMinimumDistance = 2
	case cmd.Args == nil && cmd.Name() != "help" && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "COMMAND"):
		cmd.Args = noArguments
	}
	for _, sub := range cmd.Commands() {
		rejectWrongCalls(sub)
	}
}

// unknownCommand reports a group of commands without a known subcommand.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(cmd, fmt.Errorf("%sno command given", commandPrefix(cmd)))
	}
	err := fmt.Errorf("%sunknown command %q", commandPrefix(cmd), args[0])
	if likely := cmd.SuggestionsFor(args[0]); len(likely) > 0 {
		return hinted(err, didYouMean(likely...))
	}
	return usage(cmd, err)
}

// commandPrefix returns the path of cmd as the start of an error.
func commandPrefix(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	_, names, _ := strings.Cut(cmd.CommandPath(), " ")
	return names + ": "
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, fmt.Errorf("%sunexpected argument %q", commandPrefix(cmd), args[0]))
	}
	return nil
}

// newHelp is cobra's help command, except that it fails for unknown commands.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "help about any command, and topics",
		Long:    `Help prints the help of a command, as its flag --help does, or a topic: devices, links, policies, statuses, terms or verdicts.`,
		Example: "  tcpwheel help wheel bench",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return usage(cmd.Root(), err)
			case len(rest) > 0:
				return unknownCommand(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
