//go:build !js

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/tun/link"
)

// linkCommand are the flags of link.
type linkCommand struct {
	config link.Config
	links  linkFlags
	cmds   link.Commands
	addrs  [2][]string
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
	l.links.register(flags, &c.Seed)
}

// fill makes and checks the configuration.
func (l *linkCommand) fill() (err error) {
	if l.config.Links, err = l.links.links(); err != nil {
		return err
	}
	if err := fillSides(&l.config, l.addrs); err != nil {
		return err
	}
	if err := l.config.Check(); err != nil {
		return err
	}
	return checkLinkFiles(&l.config)
}

// checkLinkFiles reports early why the log or a capture cannot be written.
func checkLinkFiles(c *link.Config) error {
	files := []struct{ flag, name string }{{"log", c.Log}, {"pcap-a", c.Captures[0]}, {"pcap-b", c.Captures[1]}}
	for i, out := range files {
		if out.name == "" {
			continue
		}
		if err := checkOutFile(out.flag, out.name, nil); err != nil {
			return err
		}
		for _, other := range files[:i] {
			if other.name == out.name && out.name != os.DevNull {
				return fmt.Errorf("%s and %s name the same file", other.flag, out.flag)
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

// fillSides reads the addresses, and names the namespaces to make.
func fillSides(c *link.Config, addrs [2][]string) (err error) {
	for i := range c.Sides {
		s := &c.Sides[i]
		if len(addrs[i]) == 0 {
			addrs[i] = []string{fmt.Sprintf("10.9.0.%d/24", i+1)}
		}
		if s.Addrs, err = parsePrefixes([]string{"a-addr", "b-addr"}[i], addrs[i]); err != nil {
			return err
		}
		if c.MakeNamespaces && s.Netns == "" {
			s.Netns = []string{"tcpwheel-a", "tcpwheel-b"}[i]
		}
	}
	return nil
}
