//go:build !js

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/tun/up"
)

// ncFlags are the flags of nc that are not fields of up.NetcatConfig.
type ncFlags struct {
	site          siteFlags
	timeout       string
	source        string
	port          uint16
	info, verbose bool
}

func newNC() *cobra.Command {
	var (
		c up.NetcatConfig
		f ncFlags
	)
	cmd := &cobra.Command{
		Use:   "nc [flags] [ADDR] PORT",
		Short: "netcat on a TCP stack behind a TUN device",
		Long: "Nc makes a TUN device with a TCP/IP stack, as up does. It connects from the\n" +
			"stack to ADDR and PORT, sends standard input, and prints what arrives. With -l\n" +
			"it waits for a connection to PORT instead, at ADDR or at all addresses of the\n" +
			"stack. The other end is a program on the kernel's side. It needs root, or\n" +
			"CAP_NET_ADMIN.\n\n" +
			"The end of standard input ends only the stream to the peer. Nc exits when the\n" +
			"peer has ended its stream and acknowledged ours; at a terminal, when the peer\n" +
			"has ended its stream. It exits with 1 if the connection was refused, reset or\n" +
			"lost, or was idle longer than -w." + "\n\n" +
			siteHelp,
		Example: "  tcpwheel nc --addr 10.7.0.2/24 --host-addr 10.7.0.1/24 10.7.0.1 8080\n" +
			"  tcpwheel nc --addr 10.7.0.2/24 --host-addr 10.7.0.1/24 -l 8080",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, errors.New("nc: no port given"))
			}
			if len(args) > 2 {
				return usage(cmd, fmt.Errorf("nc: unexpected argument %q", args[2]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needLinux("nc", tunDevices); err != nil {
				return err
			}
			err := f.fill(&c, args)
			if err == nil {
				err = c.Check()
			}
			if err == nil && c.Host.Capture == "-" {
				err = errors.New("pcap -, want a file: standard output has the connection's data")
			}
			if err != nil {
				return usage(cmd, fmt.Errorf("nc: %w", err))
			}
			return f.run(cmd, c)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.BoolVarP(&c.Listen, "listen", "l", false, "wait for a connection")
	fs.BoolVarP(&c.Keep, "keep", "k", false, "with -l: then for the next, until a signal")
	fs.StringVarP(&f.timeout, "timeout", "w", "", "limit on connecting and idling, such as 5 or 1.5s")
	fs.StringVarP(&f.source, "source", "s", "", "address to connect from")
	fs.Uint16VarP(&f.port, "port", "p", 0, "port to connect from")
	fs.BoolVar(&f.info, "info", false, "report each connection at its end, as JSON")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "report events")
	f.site.register(cmd, &c.Host)
	fs.Lookup("pcap").Usage = "pcapng file of the stack's packets" // without standard output
	return cmd
}

// fill sets c from flags and arguments.
func (f *ncFlags) fill(c *up.NetcatConfig, args []string) (err error) {
	if err := f.site.fill(&c.Host); err != nil {
		return err
	}
	if f.timeout != "" {
		if c.Timeout, err = parseSeconds(f.timeout); err != nil {
			return fmt.Errorf("timeout %w", err)
		}
	}
	var from, at netip.Addr
	if f.source != "" {
		if from, err = netip.ParseAddr(f.source); err != nil {
			return fmt.Errorf("source %q, want an IP address", f.source)
		}
	}
	if f.source != "" || f.port != 0 {
		c.Source = netip.AddrPortFrom(from, f.port)
	}
	word := args[len(args)-1]
	port, err := strconv.ParseUint(word, 10, 16)
	if err != nil || port == 0 {
		return fmt.Errorf("port %q, want 1 to 65535", word)
	}
	if len(args) == 2 {
		if at, err = netip.ParseAddr(args[0]); err != nil {
			return fmt.Errorf("address %q, want an IP address", args[0])
		}
	}
	c.At = netip.AddrPortFrom(at, uint16(port))
	return nil
}

// parseSeconds reads a duration above 0. Seconds need no unit, as in other netcats.
func parseSeconds(text string) (time.Duration, error) {
	d, err := quantity.ParseDuration(text)
	if err != nil {
		d, err = quantity.ParseDuration(text + "s")
	}
	if err != nil || d == 0 {
		return 0, fmt.Errorf("%q, want seconds such as 5, or a duration such as 500ms, above 0", text)
	}
	return d, nil
}

// run runs a client or a server with the command's streams.
func (f *ncFlags) run(cmd *cobra.Command, c up.NetcatConfig) error {
	c.In, c.Out = cmd.InOrStdin(), cmd.OutOrStdout()
	in, _ := c.In.(io.Writer) // an *os.File is one
	c.Interactive = in != nil && isTerminal(in)
	status := &statusLine{w: cmd.ErrOrStderr()}
	defer status.stop()
	c.Host.Log = func(what string) { status.print("tcpwheel: nc: " + what) }
	if f.verbose {
		c.Say = c.Host.Log
	}
	if f.info {
		c.Report = func(r *up.NetcatReport) {
			b, err := json.Marshal(r)
			if err != nil {
				b = []byte("tcpwheel: nc: info: " + err.Error())
			}
			status.print(string(b))
		}
	}
	c.Counts = &up.NetcatCounts{}
	if !isTerminal(c.Out) { // a terminal shows the data itself
		var sent, received uint64
		status.start(func(d time.Duration) string {
			s, r := c.Counts.Sent.Load(), c.Counts.Received.Load()
			line := ncStatus(s, r, sent, received, d)
			sent, received = s, r
			return line
		})
	}
	return up.RunNetcat(cmd.Context(), c)
}

// ncStatus is the status line: bytes sent and received, and the rates of the last d.
func ncStatus(sent, received, sentBefore, receivedBefore uint64, d time.Duration) string {
	return fmt.Sprintf("sent %s, %s; received %s, %s", byteCount(sent), perSecond(sent-sentBefore, d), byteCount(received), perSecond(received-receivedBefore, d))
}

// byteCount formats n bytes with three digits and a decimal unit.
func byteCount(n uint64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), 0
	for f >= 999.5 {
		f /= 1000
		unit++
	}
	return fmt.Sprintf("%.3g %cB", f, " kMGTPE"[unit])
}
