//go:build !js

package cli

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/tun/up"
)

// siteFlags are the flags of up for the stack, its TCP and its link. Values that are not
// fields of up.Config wait here for fill.
type siteFlags struct {
	addrs, hostAddrs []string
	link             linkValues
	plan             string
}

// siteHelp describes the flags of the link.
const siteHelp = "The flags from --rate on put an emulated link between kernel and stack, the\n" +
	"same in both directions. A loss is a probability, such as 0.02 or 2%, or a\n" +
	"model, such as gilbert-elliott:p=0.01,r=0.3 or packets:3,7-9. A plan is a JSON\n" +
	"file for links whose directions differ:\n\n" +
	"  {\"from_stack\": {\"delay\": \"25ms\", \"loss\": \"packets:3,7-9\"},\n" +
	"   \"to_stack\": {\"delay\": \"25ms\", \"rate\": \"100Mbit\"}, \"seed\": 7}"

// registerStack adds the flags of the stack.
func (f *siteFlags) registerStack(cmd *cobra.Command, c *up.Config) {
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&c.Device, "tun", "wheel%d", "device; %d: a free number")
	fs.StringSliceVar(&f.addrs, "addr", nil, "address of the stack, as a.b.c.d/n or IPv6")
	fs.StringSliceVar(&f.hostAddrs, "host-addr", nil, "address of the kernel on the device")
	fs.StringVar(&c.Netns, "netns", "", "network namespace of the device")
	fs.IntVar(&c.MTU, "mtu", 0, "MTU of the device (default: the kernel's)")
	fs.StringVar(&c.TCP, "tcp", up.Ours, "TCP of the stack: ours or gvisor")
	fs.StringVar(&c.Policy, "policy", "", "timer policy or profile of our TCP, NAME[@TICK] and settings")
	durationFlag(fs, &c.Tick, "tick", "", "granularity of timers (default: policy's)")
	settingFlag[tcptimers.Policy](fs, &c.Settings, "rto-floor", "rto-floor", "floor on the RTO (default: policy's)")
	settingFlag[tcptimers.Policy](fs, &c.Settings, "delayed-ack", "delack", "off, 40ms or heartbeat:200ms (default: policy's)")
	fs.BoolFunc("pacing", "a timer spreads segments over the round trip", func(text string) error {
		c.Settings = append(c.Settings, setting.Change{Name: "pacing", Text: text})
		return setting.Set(new(tcp.Config), "pacing", text)
	})
	quantityFlag(fs, &c.KeepAlive, up.ParseKeepAlive, "times", "keepalive", "", "IDLE,INTERVAL,COUNT, as 10s,1s,3 (default off)")
	fs.StringVar(&c.Control, "cc", "", "congestion control (default: cubic)")
	fs.IntVar(&c.Queues, "queues", 1, "queues of the device")
	fs.StringVar(&c.Capture, "pcap", "", "pcapng file of the stack's packets; - is stdout")
	quantityFlag(fs, &c.CaptureLimits.FileBytes, quantity.ParseSize, "size", "pcap-size", "", "bytes of a file, as 100MB (default no limit)")
	fs.IntVar(&c.CaptureLimits.Files, "pcap-files", 0, "with --pcap-size: keep so many files, numbered")
	fs.IntVar(&c.CaptureLimits.Snaplen, "snaplen", 0, "bytes of each packet to capture (default all)")
}

// registerLink adds the flags of the emulated link.
func (f *siteFlags) registerLink(cmd *cobra.Command, c *up.Config) {
	fs := cmd.Flags()
	f.link.register(fs)
	fs.Uint64Var(&c.Seed, "seed", 1, "seed of the link's random numbers")
	fs.StringVar(&f.plan, "plan", "", "JSON file of the link")
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
