//go:build !js

package cli

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tcpwheel/internal/quantity"
	"tcpwheel/tun/up"
)

// siteFlags are the flags of up for the stack, its TCP and its link. Values that are not
// fields of up.Config wait here for fill.
type siteFlags struct {
	addrs, hostAddrs []string
	link             linkValues
	plan             string
}

// registerStack adds the flags of the stack.
func (f *siteFlags) registerStack(cmd *cobra.Command, c *up.Config) {
	fs := cmd.Flags()
	fs.SortFlags = false
	addGroup(fs, "Flags of the device", "devices", func(fs *pflag.FlagSet) {
		fs.StringVar(&c.Device, "tun", "wheel%d", "device; %d: a free number")
		fs.StringSliceVar(&f.addrs, "addr", nil, "address of the stack, as a.b.c.d/n or IPv6 (default 10.7.0.2/24)")
		fs.StringSliceVar(&f.hostAddrs, "host-addr", nil, "address of the kernel on the device (default 10.7.0.1/24)")
		fs.StringVar(&c.Netns, "netns", "", "network namespace of the device")
		fs.IntVar(&c.MTU, "mtu", 0, "MTU of the device (default: the kernel's)")
		fs.IntVar(&c.TunQueue, "tun-queue", up.DefaultTunQueue, "packets that may wait for the stack; more are lost")
		quantityFlag(fs, &c.Buffers, quantity.ParseSize, "size", "buffers", "", "memory of all buffers of our TCP, as 64MiB (default 3/32 of the system's)")
	})
	fs.StringVar(&c.TCP, "tcp", up.Ours, "TCP of the stack: ours or gvisor")
	fs.StringVar(&c.Policy, "policy", "", "timers of our TCP (tcpwheel help policies)")
	fs.StringSliceVar(&c.Serve, "serve", up.DefaultServices(), "services: of these, info and pprof, or none")
	quantityFlag(fs, &c.KeepAlive, up.ParseKeepAlive, "times", "keepalive", "", "IDLE,INTERVAL,COUNT, as 10s,1s,3 (default off)")
	addGroup(fs, "Flags of records", "", func(fs *pflag.FlagSet) { f.registerRecords(fs, c) })
}

// registerRecords adds the flags of what is recorded.
func (f *siteFlags) registerRecords(fs *pflag.FlagSet, c *up.Config) {
	fs.StringVar(&c.Status, "status", "", "serve the state at this address, as 127.0.0.1:7070")
	fs.StringVar(&c.Trace, "trace", "", "file for the events, lines of JSON")
	fs.StringVar(&c.Capture, "pcap", "", "pcapng file of the stack's packets; - is stdout")
	quantityFlag(fs, &c.CaptureLimits.FileBytes, quantity.ParseSize, "size", "pcap-size", "", "bytes of a file, as 100MB (default no limit)")
	fs.IntVar(&c.CaptureLimits.Files, "pcap-files", 0, "with --pcap-size: keep so many files, numbered")
	fs.IntVar(&c.CaptureLimits.Snaplen, "snaplen", 0, "bytes of each packet to capture (default all)")
}

// registerLink adds the flags of the emulated link.
func (f *siteFlags) registerLink(cmd *cobra.Command, c *up.Config) {
	f.link.register(cmd.Flags(), &c.Seed, &f.plan, func(*pflag.FlagSet) {})
}

// fill sets c from the flags.
func (f *siteFlags) fill(c *up.Config) (err error) {
	if c.Addrs, err = parsePrefixes("addr", f.addrs); err != nil {
		return err
	}
	if c.HostAddrs, err = parsePrefixes("host-addr", f.hostAddrs); err != nil {
		return err
	}
	if err := f.link.apply(&c.Link); err != nil {
		return err
	}
	if f.plan != "" {
		c.Plan, err = up.ReadPlan(f.plan)
	}
	return err
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
