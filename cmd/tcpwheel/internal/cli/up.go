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
		Use:                   "up [flags] [-- COMMAND]",
		Short:                 "a TCP stack behind a TUN device, with services on it",
		Long:                  `Up runs a TCP/IP stack behind a TUN device until Ctrl-C or SIGTERM: as root, or with --rootless in a namespace of its own, as long as COMMAND or a shell runs there. The stack answers pings and serves echo, discard, chargen and HTTP (/bytes/N), over an emulated link if you ask for one. docs/up.md has all.`,
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
	cmd.Flags().StringArrayVar(&f.expose, "expose", nil, "PORT:HOST:PORT, from the stack to here (ssh -R)")
	cmd.Flags().StringArrayVar(&f.forward, "forward", nil, "PORT:ADDR:PORT, from here to the stack (ssh -L)")
	cmd.Flags().BoolVar(&f.rootless, "rootless", false, "without root, in a user namespace")
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
		return runInside(cmd.Context(), c, command, in, out, talk, c.Log)
	}
	c.DropPrivileges = true
	return up.Run(cmd.Context(), c, c.Log)
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
