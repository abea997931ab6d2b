package main

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun/up"
)

// upFlags are the flags of up that are more than fields of up.Config.
type upFlags struct {
	addrs, hostAddrs []string
	loss, rate       string
}

func newUp() *cobra.Command {
	var (
		c up.Config
		f upFlags
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
			"The flags from --delay on put an emulated link between kernel and stack. What\n" +
			"they say holds for each direction. A loss is a probability, or the text of a\n" +
			"model, such as gilbert-elliott:p=0.01,r=0.3 or packets:3,7-9.",
		Example: "  tcpwheel up --tun wheel0 --host-addr 10.7.0.1/24 --addr 10.7.0.2/24",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.fill(&c)
			if err == nil {
				err = c.Check()
			}
			if err != nil {
				return usage(cmd, fmt.Errorf("up: %w", err))
			}
			return up.Run(cmd.Context(), c, func(what string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: up: %s\n", what)
			})
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&c.Device, "tun", "wheel%d", "device; %d: a free number")
	fs.StringSliceVar(&f.addrs, "addr", nil, "address of the stack, as a.b.c.d/n or IPv6")
	fs.StringSliceVar(&f.hostAddrs, "host-addr", nil, "address of the kernel on the device")
	fs.StringVar(&c.Netns, "netns", "", "network namespace of the device")
	fs.IntVar(&c.MTU, "mtu", 0, "MTU of the device (default: the kernel's)")
	fs.StringVar(&c.TCP, "tcp", up.Ours, "whose TCP: ours or gvisor")
	fs.StringVar(&c.Policy, "policy", "", "timer policy or profile of our TCP")
	fs.DurationVar(&c.Tick, "tick", 0, "granularity of timers (default: policy's)")
	fs.StringVar(&c.Control, "cc", "", "congestion control (default: cubic)")
	fs.DurationVar(&c.Link.Delay, "delay", 0, "time that a packet takes")
	fs.StringVar(&f.loss, "loss", "", "loss of packets")
	fs.Float64Var(&c.Link.Reorder.Probability, "reorder", 0, "probability to pass those before")
	fs.StringVar(&f.rate, "rate", "", "rate in bit/s (default: no bound)")
	fs.Uint32Var(&c.Link.Queue.Packets, "queue", 0, "packets that may wait (default: 2^24)")
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of the link's random numbers")
	return cmd
}

// fill reads the flags that are text into c.
func (f *upFlags) fill(c *up.Config) (err error) {
	if c.Addrs, err = parsePrefixes("addr", f.addrs); err != nil {
		return err
	}
	if c.HostAddrs, err = parsePrefixes("host-addr", f.hostAddrs); err != nil {
		return err
	}
	if p, err := strconv.ParseFloat(f.loss, 64); err == nil {
		if p != 0 {
			c.Link.Loss = sim.Losses{sim.Bernoulli{P: p}}
		}
	} else if c.Link.Loss, err = sim.ParseLosses(f.loss); err != nil {
		return err
	}
	if f.rate != "" {
		r, err := strconv.ParseFloat(f.rate, 64)
		if err != nil || r != math.Trunc(r) || r < 1 || r > 1e15 {
			return fmt.Errorf("rate %q, want a whole number of bit/s up to 1e15, such as 1e9", f.rate)
		}
		c.Link.Rate = uint64(r)
	}
	return nil
}

func parsePrefixes(flag string, list []string) (prefixes []netip.Prefix, err error) {
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("%s %q, want an address with a prefix length, such as 10.7.0.2/24 or fd07::2/64", flag, s)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}
