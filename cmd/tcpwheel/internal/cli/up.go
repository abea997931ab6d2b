//go:build !js

package cli

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/internal/quantity"
	"tcpwheel/tun/up"
)

// upCommand is up with its flags. Values that are not fields of up.Config wait here for fill.
type upCommand struct {
	c                up.Config
	addrs, hostAddrs []string
	expose, forward  []string
	rootless         bool
	link             linkValues
	plan             string
}

func newUp() *cobra.Command {
	var u upCommand
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
			case len(args) > 0 && !u.rootless:
				return usage(cmd, fmt.Errorf("up: a command without --rootless: run it in another terminal"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLinux("up", tunDevices); err != nil {
				return err
			}
			return u.run(cmd, args)
		},
	}
	u.register(cmd.Flags())
	return cmd
}

func (u *upCommand) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	c := &u.c
	addGroup(flags, "Flags of the device", "devices", func(fs *pflag.FlagSet) {
		fs.StringVar(&c.Device, "tun", "wheel%d", "device; %d: a free number")
		fs.StringSliceVar(&u.addrs, "addr", nil, "address of the stack, as a.b.c.d/n or IPv6 (default 10.7.0.2/24)")
		fs.StringSliceVar(&u.hostAddrs, "host-addr", nil, "address of the kernel on the device (default 10.7.0.1/24)")
		fs.StringVar(&c.Netns, "netns", "", "network namespace of the device")
		fs.IntVar(&c.MTU, "mtu", 0, "MTU of the device (default: the kernel's)")
		fs.IntVar(&c.TunQueue, "tun-queue", up.DefaultTunQueue, "packets that may wait for the stack; more are lost")
		quantityFlag(fs, &c.Buffers, quantity.ParseSize, "size", "buffers", "", "memory of all buffers of our TCP, as 64MiB (default 3/32 of the system's)")
	})
	flags.StringVar(&c.TCP, "tcp", up.Ours, "TCP of the stack: ours or gvisor")
	flags.StringVar(&c.Policy, "policy", "", "timers of our TCP (tcpwheel help policies)")
	flags.StringSliceVar(&c.Serve, "serve", up.DefaultServices(), "services: of these, info and pprof, or none")
	quantityFlag(flags, &c.KeepAlive, up.ParseKeepAlive, "times", "keepalive", "", "IDLE,INTERVAL,COUNT, as 10s,1s,3 (default off)")
	addGroup(flags, "Flags of records", "", func(fs *pflag.FlagSet) {
		fs.StringVar(&c.Status, "status", "", "serve the state at this address, as 127.0.0.1:7070")
		fs.StringVar(&c.Trace, "trace", "", "file for the events, lines of JSON")
		fs.StringVar(&c.Capture, "pcap", "", "pcapng file of the stack's packets; - is stdout")
		quantityFlag(fs, &c.CaptureLimits.FileBytes, quantity.ParseSize, "size", "pcap-size", "", "bytes of a file, as 100MB (default no limit)")
		fs.IntVar(&c.CaptureLimits.Files, "pcap-files", 0, "with --pcap-size: keep so many files, numbered")
		fs.IntVar(&c.CaptureLimits.Snaplen, "snaplen", 0, "bytes of each packet to capture (default all)")
	})
	flags.StringArrayVar(&u.expose, "expose", nil, "PORT:HOST:PORT, from the stack to here (ssh -R)")
	flags.StringArrayVar(&u.forward, "forward", nil, "PORT:ADDR:PORT, from here to the stack (ssh -L)")
	flags.BoolVar(&u.rootless, "rootless", false, "without root, in a user namespace")
	u.link.register(flags, &c.Seed, &u.plan)
}

// run runs the stack until a signal ends it.
func (u *upCommand) run(cmd *cobra.Command, command []string) error {
	in, out, talk := cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	c := &u.c
	c.Stdout = out
	err := u.fill()
	if err == nil {
		err = c.Check()
	}
	if err == nil && c.Capture == "-" && isTerminal(out) {
		err = errors.New("pcap -, want a file or a pipe: standard output is a terminal")
	}
	if err != nil {
		return usage(cmd, fmt.Errorf("up: %w", err))
	}
	if u.rootless && !rootless() {
		return runRootless(c.Status, in, out, talk)
	}
	if c.Capture == "-" {
		ignoreBrokenPipes() // the end of the capture's reader ends the stack cleanly
	}
	c.Log = func(what string) { fmt.Fprintln(talk, "tcpwheel: up: "+what) }
	if !u.rootless {
		c.DropPrivileges = true
		return up.Run(cmd.Context(), *c, c.Log)
	}
	if err := enterRootless(c); err != nil {
		return err
	}
	if len(command) == 0 {
		command = shellOf(in)
	}
	return runInside(cmd.Context(), *c, command, in, out, talk)
}

// fill sets the configuration from the flags.
func (u *upCommand) fill() (err error) {
	c := &u.c
	if len(u.addrs)+len(u.hostAddrs) == 0 {
		u.addrs, u.hostAddrs = []string{"10.7.0.2/24"}, []string{"10.7.0.1/24"}
	}
	if c.Addrs, err = parseAll("addr", u.addrs, parsePrefix); err != nil {
		return err
	}
	if c.HostAddrs, err = parseAll("host-addr", u.hostAddrs, parsePrefix); err != nil {
		return err
	}
	if err := u.link.apply(&c.Link); err != nil {
		return err
	}
	if u.plan != "" {
		if c.Plan, err = up.ReadPlan(u.plan); err != nil {
			return err
		}
	}
	if c.Expose, err = parseAll("expose", u.expose, up.ParseForward); err != nil {
		return err
	}
	c.Forward, err = parseAll("forward", u.forward, up.ParseForward)
	return err
}

// parseAll reads the values of a flag that may be given several times.
func parseAll[T any](flag string, texts []string, parse func(text string) (T, error)) (all []T, err error) {
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s %w", flag, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		err = fmt.Errorf("%q, want an address with a prefix length, such as 10.7.0.2/24 or fd07::2/64", text)
	}
	return p, err
}
