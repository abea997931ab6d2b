//go:build !js

package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/cmd/tcpwheel/internal/demo"
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
		Long: "Up makes a TUN device, gives the kernel an address on it, and runs a TCP/IP\n" +
			"stack behind it until SIGINT, SIGTERM or SIGHUP. Then it removes the device\n" +
			"with its addresses and routes. It needs root, or CAP_NET_ADMIN.\n\n" +
			"Each address of the stack answers pings, and serves echo at port 7 (TCP and\n" +
			"UDP), discard at 9, chargen at 19, and HTTP at 80: /bytes/N returns N fixed\n" +
			"bytes. --serve names other services: with info that HTTP server has /info, the\n" +
			"stack's state, and with pprof the status server has profiles of this process.\n" +
			"--status serves that state outside of the link, on an address of this machine:\n\n" +
			"  /              a page: the timing wheel, the packets, recoveries, connections\n" +
			"  /info          a summary; ?connections=established&limit=20 adds connections\n" +
			"  /metrics       for Prometheus, with histograms of recovery times and of the\n" +
			"                 lateness of timers\n" +
			"  /events        timers, segments and recoveries from now on, as lines of JSON;\n" +
			"                 --trace writes them to a file\n\n" +
			"Other programs reach the stack through forwarded ports, as with ssh -R and -L.\n" +
			"Put IPv6 addresses in []. Both flags may be repeated:\n\n" +
			"  --expose [ADDR:]PORT:HOST:HOSTPORT\n" +
			"      the stack listens, at all of its addresses or at ADDR, and forwards\n" +
			"      connections to HOST of the kernel: iperf3 -s behind our TCP\n" +
			"  --forward [BIND:]PORT:ADDR:PORT\n" +
			"      the kernel listens, at 127.0.0.1, at BIND, or at all addresses (*), and\n" +
			"      the stack connects to ADDR: iperf3 -c in front of our TCP\n\n" +
			"Without root, --rootless makes a user namespace with a network of its own,\n" +
			"where the kernel's side is COMMAND, or a shell at a terminal. up ends with it,\n" +
			"with its exit status. The addresses are then 10.7.0.1/24 and 10.7.0.2/24 by\n" +
			"default. The status server is still reached from outside.\n\n" +
			"The kernel's side of both is in the network namespace of the command. With\n" +
			"--netns that is not the device's.\n\n" +
			"The capture has the packets at the stack's end of the link, with nanoseconds.\n" +
			"A comment on each packet that a timer of our TCP sent names the timer, when it\n" +
			"was armed, and how late it was. Super-segments are captured whole. Packets are\n" +
			"dropped from the capture, counted and reported, if the file is too slow." + "\n\n" +
			"The link's flags put an emulated link between kernel and stack, the same in both\n" +
			"directions, or with --plan different ones.",
		DisableFlagsInUseLine: true,
		Example: "  tcpwheel up --tun wheel0 --host-addr 10.7.0.1/24 --addr 10.7.0.2/24\n" +
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
	cmd.Flags().StringVar(&c.Status, "status", "", "serve the state at this address, as 127.0.0.1:7070")
	cmd.Flags().StringVar(&c.Trace, "trace", "", "file for the events, lines of JSON")
	cmd.Flags().StringArrayVar(&f.expose, "expose", nil, "forward a port of the stack to the kernel")
	cmd.Flags().StringArrayVar(&f.forward, "forward", nil, "forward a port of the kernel through the stack")
	cmd.Flags().BoolVar(&f.rootless, "rootless", false, "without root: in a user namespace, with COMMAND or a shell")
	f.registerLink(cmd, &c)
	return cmd
}

// run runs the stack until a signal ends it.
func (f *upFlags) run(cmd *cobra.Command, c up.Config, command []string) error {
	if f.rootless && len(f.addrs)+len(f.hostAddrs) == 0 {
		f.addrs, f.hostAddrs = []string{"10.7.0.2/24"}, []string{"10.7.0.1/24"}
	}
	c.Stdout, c.Page = cmd.OutOrStdout(), demo.NewLive
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
	status := &statusLine{w: talk}
	defer status.stop()
	c.Log = func(what string) { status.print("tcpwheel: up: " + what) }
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
	return up.Run(cmd.Context(), c, func(s up.Running) {
		c.Log(s.String())
		before := s.Status()
		status.start(func(d time.Duration) string {
			now := s.Status()
			line := upStatus(before, now, d)
			before = now
			return line
		})
	})
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

// upStatus is the status line. Directions are the stack's.
func upStatus(before, now up.Status, d time.Duration) string {
	line := fmt.Sprintf("in %s, out %s, %d connections, %d retransmitted", perSecond(now.ToStack-before.ToStack, d),
		perSecond(now.FromStack-before.FromStack, d), now.Connections, now.Retransmissions)
	if now.Timers >= 0 {
		line += fmt.Sprintf(", %d timers", now.Timers)
	}
	return line
}
