//go:build !js

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tcpwheel/tun/up"
)

// upFlags are the flags of up.
type upFlags struct {
	siteFlags
	expose, forward []string
	rootless        bool
}

func newUp() *cobra.Command {
	var (
		c up.Config
		f upFlags
	)
	cmd := &cobra.Command{
		Use:   "up [flags] [-- COMMAND]",
		Short: "a TCP stack behind a TUN device, with services on it",
		Long: `Up makes a TUN device, gives the kernel an address on it, and runs a TCP/IP stack behind it until Ctrl-C or SIGTERM. Then it removes the device. It needs root, or --rootless: that makes a user namespace with a network of its own, in which COMMAND runs, or a shell at a terminal. up ends with it, and with its exit status.

Each address of the stack answers pings, and serves echo at port 7, discard at 9, chargen at 19, and HTTP at 80: /bytes/N returns N fixed bytes. --status serves /info, /metrics and /events at an address of this machine. --expose PORT:HOST:HOSTPORT and --forward PORT:ADDR:PORT join other programs to the stack, as ssh -R and -L do.

The link's flags put an emulated link between kernel and stack, the same in both directions, or with --plan different ones. docs/up.md has all.`,
		DisableFlagsInUseLine: true,
		Example: "  tcpwheel up --policy linux@1ms --status 127.0.0.1:7070\n" +
			"  tcpwheel up --rootless --loss 2% -- curl -so page http://10.7.0.2/bytes/9999",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && cmd.ArgsLenAtDash() != 0:
				return usage(cmd, fmt.Errorf("up: unexpected argument %q", args[0]))
			case len(args) > 0 && !f.rootless:
				return usage(cmd, fmt.Errorf("up: a command without --rootless: run it in another terminal"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLinux("up", tunDevices); err != nil {
				return err
			}
			return f.run(cmd, c, args)
		},
	}
	f.registerStack(cmd, &c)
	cmd.Flags().StringArrayVar(&f.expose, "expose", nil, "forward a port of the stack to the kernel")
	cmd.Flags().StringArrayVar(&f.forward, "forward", nil, "forward a port of the kernel through the stack")
	cmd.Flags().BoolVar(&f.rootless, "rootless", false, "without root: in a user namespace, with COMMAND or a shell")
	f.registerLink(cmd, &c)
	return cmd
}

// run runs the stack until a signal ends it.
func (f *upFlags) run(cmd *cobra.Command, c up.Config, command []string) error {
	if len(f.addrs)+len(f.hostAddrs) == 0 {
		f.addrs, f.hostAddrs = []string{"10.7.0.2/24"}, []string{"10.7.0.1/24"}
	}
	c.Stdout = cmd.OutOrStdout()
	err := f.fill(&c)
	if err == nil {
		err = c.Check()
	}
	if err == nil && c.Capture == "-" && isTerminal(c.Stdout) {
		err = errors.New("pcap -, want a file or a pipe: standard output is a terminal")
	}
	if err != nil {
		return usage(cmd, fmt.Errorf("up: %w", err))
	}
	in, out, talk := cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if f.rootless && !rootless() {
		return runRootless(c.Status, in, out, talk)
	}
	if c.Capture == "-" {
		ignoreBrokenPipes() // the end of the capture's reader ends the stack cleanly
	}
	c.Log = func(what string) { fmt.Fprintln(talk, "tcpwheel: up: "+what) }
	if f.rootless {
		if err := enterRootless(&c); err != nil {
			return err
		}
		if len(command) == 0 {
			command = shellOf(in)
		}
		return runInside(cmd.Context(), c, command, in, out, talk, func(s up.Running) { c.Log(s.String()) })
	}
	c.DropPrivileges = true
	return up.Run(cmd.Context(), c, func(s up.Running) { c.Log(s.String()) })
}

// fill sets c from the flags.
func (f *upFlags) fill(c *up.Config) error {
	if err := f.siteFlags.fill(c); err != nil {
		return err
	}
	for _, list := range []struct {
		name  string
		texts []string
		to    *[]up.Forward
	}{{"expose", f.expose, &c.Expose}, {"forward", f.forward, &c.Forward}} {
		for _, text := range list.texts {
			forward, err := up.ParseForward(text)
			if err != nil {
				return fmt.Errorf("%s %w", list.name, err)
			}
			*list.to = append(*list.to, forward)
		}
	}
	return nil
}
