//go:build !js

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/tun/link"
)

// linkCommand is link with its flags. Values that are not fields of link.Config wait here for fill.
type linkCommand struct {
	config link.Config
	addrs  [2][]string
	both   linkValues
	one    [2][]string // KEY=VALUE of a direction
	plan   string
	cmds   link.Commands
	asJSON bool
}

func newLink() *cobra.Command {
	l := new(linkCommand)
	cmd := &cobra.Command{
		Use:                   "link [flags] [-- COMMAND]",
		Short:                 "two kernels joined by an emulated link that logs packets' fates",
		Long:                  `Link makes two TUN devices, in two network namespaces or one, and joins them by an emulated link. It runs until Ctrl-C or SIGTERM, or until COMMAND ends, which runs in a's namespace. Then it removes the devices and prints the counts of each direction. It needs root. docs/link.md has all.`,
		Example:               "  tcpwheel link --make-netns --delay 5ms --a-to-b loss=packets:20 --log fates",
		DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) > 0 && n != 0 {
				return usage(cmd, fmt.Errorf("link: unexpected argument %q: put a command after --", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLinux("link", namespaces); err != nil {
				return err
			}
			return l.run(cmd, args)
		},
	}
	l.register(cmd.Flags())
	return cmd
}

func (l *linkCommand) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c := &l.config
	addGroup(flags, "Flags of the ends", "devices", func(flags *pflag.FlagSet) {
		for i, side := range []string{"a", "b"} {
			s := &c.Sides[i]
			flags.StringVar(&s.Device, side, "", "device of "+side+"; %d: a free number (default link%d)")
			flags.StringVar(&s.Netns, side+"-netns", "", "its network namespace")
			flags.StringSliceVar(&l.addrs[i], side+"-addr", nil, fmt.Sprintf("address of %s (default 10.9.0.%d/24)", side, i+1))
		}
	})
	flags.BoolVar(&c.Force, "force", false, "with --make-netns: remove existing ones first")
	flags.BoolVar(&c.MakeNamespaces, "make-netns", false, "make and remove the namespaces")
	flags.StringVar(&l.cmds.B, "b-run", "", "shell command to run in b's namespace")
	flags.IntVar(&c.MTU, "mtu", 0, "MTU of the devices (default: the kernel's)")
	flags.IntVar(&c.PathMTU, "path-mtu", 0, "largest packet of the link; ICMP reports it")
	flags.BoolVar(&c.Offload, "offload", false, "let the kernels offload segmentation")
	flags.BoolVar(&c.Realtime, "realtime", true, "real-time priority, for precision")
	addGroup(flags, "Flags of records", "", func(flags *pflag.FlagSet) {
		flags.StringVar(&c.Log, "log", "", "JSON file of the fate of each packet")
		flags.StringVar(&c.Captures[0], "pcap-a", "", "pcapng file of the packets at a")
		flags.StringVar(&c.Captures[1], "pcap-b", "", "pcapng file of the packets at b")
		flags.BoolVar(&l.asJSON, "json", false, "print one JSON object per line")
	})
	l.both.register(flags, &c.Seed, &l.plan, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&l.one[0], "a-to-b", nil, "KEY=VALUE: that flag for one direction")
		flags.StringArrayVar(&l.one[1], "b-to-a", nil, "the same for the other direction")
	})
}

// fill makes and checks the configuration.
func (l *linkCommand) fill() (err error) {
	c := &l.config
	if err := l.fillLinks(); err != nil {
		return err
	}
	for i := range c.Sides {
		s, side := &c.Sides[i], []string{"a", "b"}[i]
		if len(l.addrs[i]) == 0 {
			l.addrs[i] = []string{fmt.Sprintf("10.9.0.%d/24", i+1)}
		}
		if s.Addrs, err = parseAll(side+"-addr", l.addrs[i], parsePrefix); err != nil {
			return err
		}
		if c.MakeNamespaces && s.Netns == "" {
			s.Netns = "tcpwheel-" + side
		}
	}
	if err := c.Check(); err != nil {
		return err
	}
	flags, names := []string{"log", "pcap-a", "pcap-b"}, []string{c.Log, c.Captures[0], c.Captures[1]}
	for i, name := range names {
		if name == "" {
			continue
		}
		if err := checkOutFile(flags[i], name, nil); err != nil {
			return err
		}
		if other := slices.Index(names, name); other < i && name != os.DevNull {
			return fmt.Errorf("%s and %s name the same file", flags[other], flags[i])
		}
	}
	return nil
}

// fillLinks makes the models of both directions: the plan, changed by the flags for both
// directions, changed by the flags for one.
func (l *linkCommand) fillLinks() error {
	links := &l.config.Links
	if l.plan != "" {
		text, err := os.ReadFile(l.plan)
		if err != nil {
			return err
		}
		if *links, err = link.ParsePlan(text); err != nil {
			return fmt.Errorf("%s: %w", l.plan, err)
		}
	}
	for d := range links {
		if err := l.both.apply(&links[d]); err != nil {
			return err
		}
		for _, setting := range l.one[d] {
			key, value, ok := strings.Cut(setting, "=")
			if !ok {
				return fmt.Errorf("%s: %q, want KEY=VALUE, such as loss=2%%", link.Direction(d), setting)
			}
			if err := links[d].Set(key, value); err != nil {
				return fmt.Errorf("%s: %w", link.Direction(d), err)
			}
		}
	}
	return nil
}

func (l *linkCommand) run(cmd *cobra.Command, args []string) error {
	if err := l.fill(); err != nil {
		err = fmt.Errorf("link: %w", err)
		if errors.As(err, new(*fs.PathError)) {
			return err // the plan cannot be read
		}
		return usage(cmd, err)
	}
	out, talk := cmd.OutOrStdout(), cmd.ErrOrStderr()
	l.cmds.Stdin, l.cmds.Stdout, l.cmds.Stderr = cmd.InOrStdin(), out, talk
	if len(args) > 0 {
		l.cmds.A = args
		out = talk // standard output is the command's
	}
	if !cmd.Flags().Changed("realtime") {
		if err := link.CheckRealtime(); err != nil {
			l.config.Realtime = false
			fmt.Fprintf(talk, "tcpwheel: link: packets may be late: cannot get real-time priority: %v\n", err)
		}
	}
	s, err := link.Run(cmd.Context(), l.config, l.cmds, func(running *link.Link) func() {
		fmt.Fprintf(talk, "tcpwheel: link: %v\n", running)
		return func() {}
	})
	if s[0].Direction == "" { // it has not started
		return err
	}
	write := link.WriteTable
	if l.asJSON {
		write = func(w io.Writer, s [2]link.Summary) error { return writeRecords(w, s[:]) }
	}
	if e := write(out, s); err == nil {
		err = e
	}
	return err
}
