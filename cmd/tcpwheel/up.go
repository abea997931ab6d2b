package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tcpwheel/tun/up"
)

func newUp() *cobra.Command {
	var (
		c up.Config
		f siteFlags
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "a TCP stack behind a TUN device, with services on it",
		Long: "Up makes a TUN device, gives the kernel an address on it, and runs a TCP/IP\n" +
			"stack behind it until it gets SIGINT or SIGTERM. The device then goes, with its\n" +
			"addresses and routes. It needs root, or CAP_NET_ADMIN.\n\n" +
			"On each address of the stack there are echo at port 7, discard at 9, chargen at\n" +
			"19, and HTTP at 80: /bytes/N serves N octets that are always the same, and\n" +
			"/info all connections as JSON.\n\n" +
			siteHelp,
		Example: "  tcpwheel up --tun wheel0 --host-addr 10.7.0.1/24 --addr 10.7.0.2/24",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.fill(&c)
			if err == nil {
				err = c.Check()
			}
			if err != nil {
				return usage(cmd, fmt.Errorf("up: %w", err))
			}
			return up.Run(cmd.Context(), c, func(s up.Running) {
				fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: up: %s\n", s)
			})
		},
	}
	f.register(cmd, &c)
	return cmd
}
