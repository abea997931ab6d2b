// Command tcpwheel is the front of the whole house: captures are analysed and replayed, stacks put behind TUN devices, studies and
// scenarios run, and wheels timed. Results go to standard output, as tables or with --json as one object per line; talk goes to
// standard error.
//
// It exits with 0 if all went well, 1 if it failed, 2 if it was called wrongly, and 3 if it ran and found a violation.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitOK        = 0
	exitFailed    = 1
	exitUsage     = 2
	exitViolation = 3
)

func main() {
	collectLate()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command, for tests to call. It returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends what does not end by the first
	root := newRoot(stdin, stdout, stderr)
	root.SetArgs(append([]string{}, args...)) // cobra takes nil for the arguments of the process
	return report(stderr, root.ExecuteContext(ctx))
}

// usageError is the caller's mistake, found before anything was done.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }

// usage returns err as the mistake of whoever called cmd.
func usage(cmd *cobra.Command, err error) error {
	return &usageError{err: err, hint: fmt.Sprintf("see '%s --help'", cmd.CommandPath())}
}

// violation is what a command has found that must not be.
type violation struct{ err error }

func (v *violation) Error() string { return v.err.Error() }

// report tells about err and returns the exit status that belongs to it.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	fmt.Fprintf(stderr, "tcpwheel: error: %v\n", err)
	var (
		u *usageError
		v *violation
	)
	switch {
	case errors.As(err, &u):
		fmt.Fprintf(stderr, "tcpwheel: hint: %s\n", u.hint)
		return exitUsage
	case errors.As(err, &v):
		return exitViolation
	}
	return exitFailed
}

func newRoot(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "tcpwheel",
		Short: "timing wheels, and a userspace TCP on top of them",
		Long: "tcpwheel tells of captures what their losses cost and what other timers would have\n" +
			"made of them, runs a userspace TCP with a timer for each segment over TUN and in\n" +
			"virtual time, and measures timing wheels.\n\n" +
			"It exits with 0 if all went well, 1 if it failed, 2 if it was called wrongly, and 3\n" +
			"if it ran and found a violation.",
		Example:       "  tcpwheel analyze lossy.pcapng.gz\n  tcpwheel wheel bench --schemes scheme6,runtime --n 1000",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			return unknownCommand(cmd, args) // whose flags these are
		}
		return usage(cmd, flagError(err))
	})
	root.AddCommand(
		newAnalyze(),
		newReplay(),
		newSamples(),
		newAccuracy(),
		newUp(),
		newNC(),
		newLink(),
		newTail(),
		newExperiment(),
		newScript(),
		newSim(),
		newWheel(),
		newVersion(),
	)
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	settle(root)
	fitHelp(root)
	return root
}

// settle lets every command that was called wrongly say so: cobra prints the help of a group, and is content.
func settle(cmd *cobra.Command) {
	switch {
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = unknownCommand
		cmd.SuggestionsMinimumDistance = 2
	case cmd.Args == nil && cmd.Name() != "help" && !strings.Contains(cmd.Use, "FILE") && !strings.Contains(cmd.Use, "COMMAND"):
		cmd.Args = noArguments
	}
	for _, sub := range cmd.Commands() {
		settle(sub)
	}
}

// unknownCommand is what a group of commands runs if none of them was named.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage(cmd, fmt.Errorf("%sno command given", within(cmd)))
	}
	err := fmt.Errorf("%sunknown command %q", within(cmd), args[0])
	if likely := cmd.SuggestionsFor(args[0]); len(likely) > 0 {
		return &usageError{err: err, hint: fmt.Sprintf("did you mean '%s'?", strings.Join(likely, "' or '"))}
	}
	return usage(cmd, err)
}

// within returns the names that led to cmd, to begin an error with.
func within(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	_, names, _ := strings.Cut(cmd.CommandPath(), " ")
	return names + ": "
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, fmt.Errorf("%sunexpected argument %q", within(cmd), args[0]))
	}
	return nil
}

// newHelp is cobra's help command, except that it fails for what there is no help for.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "help about any command",
		Long:    "Help prints the help of a command, as its flag --help does.",
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
