//go:build !js

package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/watch"
)

// watching is a run of watch.
type watching struct {
	hosts, ports    []string
	every, duration time.Duration
	listen          string
	asJSON          bool
	maxConns        int
	ring            quantity.Size

	annotate     string
	annotateSize quantity.Size
	rotation     watch.Rotation

	options watch.Options
	screen  bool // standard output is a terminal that shows the last minute

	mu    sync.Mutex // episodes come from another goroutine
	out   *bufio.Writer
	enc   *json.Encoder
	wrote error // the first one of out
}

func newWatch() *cobra.Command {
	w := new(watching)
	cmd := &cobra.Command{
		Use:   "watch IFACE",
		Short: "report recoveries from losses on a live interface as they end",
		Long: "Watch follows the TCP connections on an interface, or on all with any, and\n" +
			"reports each recovery from a loss a second after its end: what caused it, how\n" +
			"long it took, and the time lost. It needs root or CAP_NET_RAW, and Linux. With\n" +
			"- it reads pcap or pcapng from a live pipe, such as tcpdump -U -w -.\n\n" +
			"On a terminal it shows the last minute, once a second. Elsewhere it prints a\n" +
			"summary at the end, after --duration or SIGINT, and with --every a line each\n" +
			"time. With --json it prints a line for each recovery, and the summary.\n\n" +
			"--host and --port select connections by either end, in the kernel. Each may be\n" +
			"repeated. Episodes during which the kernel dropped packets are uncertain and not\n" +
			"counted. docs/watch.md has the words, the fields, and the limits.",
		Example: "  tcpwheel watch eth0 --port 443 --listen 127.0.0.1:9100\n" +
			"  tcpwheel samples captures\n" +
			"  tcpwheel watch --json - < captures/burst/a.pcapng.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(cmd, fmt.Errorf("watch: %d interfaces, want one, any, or - for a pipe", len(args)))
			}
			if args[0] != "-" {
				if err := needLinux("watch "+args[0], packetSockets); err != nil {
					return err
				}
			}
			if err := w.check(cmd); err != nil {
				return usage(cmd, fmt.Errorf("watch: %w", err))
			}
			return w.run(cmd, args[0])
		},
	}
	cmd.Args = cobra.ArbitraryArgs
	f := cmd.Flags()
	f.StringArrayVar(&w.hosts, "host", nil, "only connections with this `address` or prefix")
	f.StringArrayVar(&w.ports, "port", nil, "only connections with this `port`")
	durationFlag(f, &w.duration, "duration", "", "end after this time (default: at SIGINT)")
	durationFlag(f, &w.every, "every", "", "how often to show the last minute (default: 1s on a terminal, elsewhere only at the end)")
	f.BoolVar(&w.asJSON, "json", false, "print one JSON object per line")
	f.StringVar(&w.listen, "listen", "", "serve a page and /metrics at this `address`, as 127.0.0.1:9100")
	f.StringVar(&w.annotate, "annotate", "", "write the packets around episodes to this `file`, as pcapng with comments that Wireshark shows")
	f.IntVar(&w.rotation.Files, "annotate-files", 4, "keep that many files; older ones are FILE.1 ...")
	quantityFlag(f, &w.annotateSize, quantity.ParseSize, "size", "annotate-size", "16MB", "begin another file at this size")
	f.IntVar(&w.maxConns, "max-conns", 1<<14, "connections at once, to bound memory")
	quantityFlag(f, &w.ring, quantity.ParseSize, "size", "ring", "16MiB", "memory for packets that were not read yet")
	return cmd
}

// check reads and checks the flags.
func (w *watching) check(cmd *cobra.Command) (err error) {
	if w.options.Filter, err = watch.ParseFilter(w.hosts, w.ports); err != nil {
		return err
	}
	w.options.Ring, w.rotation.Size = int(w.ring), int64(w.annotateSize)
	if err := w.options.Check(); err != nil {
		return err
	}
	if err := w.rotation.Check(); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	switch {
	case w.maxConns < 1:
		return fmt.Errorf("max-conns %d, want at least 1", w.maxConns)
	case cmd.Flags().Changed("every") && w.every < 100*time.Millisecond:
		return fmt.Errorf("every %v, want at least 100ms", w.every)
	case cmd.Flags().Changed("duration") && w.duration <= 0:
		return fmt.Errorf("duration %v, want more than 0", w.duration)
	}
	if w.listen != "" {
		if _, _, err := net.SplitHostPort(w.listen); err != nil {
			return fmt.Errorf("listen %q, want an address and a port, as 127.0.0.1:9100", w.listen)
		}
	}
	if w.annotate != "" {
		return checkOutFile("annotate", w.annotate, nil)
	}
	return nil
}

// run watches an interface, or the pipe "-".
func (w *watching) run(cmd *cobra.Command, name string) error {
	w.out = bufio.NewWriter(cmd.OutOrStdout())
	w.enc = newJSONLines(w.out)
	w.screen = isTerminal(cmd.OutOrStdout()) && !w.asJSON
	if w.screen && w.every == 0 {
		w.every = time.Second
	}
	c := watch.Config{Interface: name, Filter: w.options.Filter, MaxConns: w.maxConns}
	if w.asJSON {
		c.Episode = func(e *watch.Episode) { w.encode(e) }
	}
	var source func(context.Context, *watch.Watcher) error
	if name == "-" {
		c.Interface = "pipe"
		source = func(ctx context.Context, to *watch.Watcher) error {
			return watch.Pipe(ctx, to, cmd.InOrStdin(), "standard input")
		}
	} else {
		l, err := watch.Listen(name, w.options)
		if err != nil {
			return err
		}
		defer l.Close()
		source = l.Run
	}
	var serve net.Listener
	if w.listen != "" {
		var err error
		if serve, err = net.Listen("tcp", w.listen); err != nil {
			return fmt.Errorf("watch: --listen: %w", err)
		}
		defer serve.Close()
	}
	if w.annotate != "" {
		var err error
		if c.Recorder, err = watch.Record(w.annotate, w.rotation); err != nil {
			return err
		}
	}
	return w.follow(cmd, watch.New(c), source, serve)
}

// follow passes the source's packets to a watcher until the time is over, a signal comes, or the
// source ends.
func (w *watching) follow(cmd *cobra.Command, to *watch.Watcher, source func(context.Context, *watch.Watcher) error, serve net.Listener) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	if w.duration > 0 {
		ctx, stop = context.WithTimeout(ctx, w.duration)
		defer stop()
	}
	if serve != nil {
		web := &http.Server{Handler: to.Handler(), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = web.Serve(serve) }() // ends with Close
		defer web.Close()
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: watch: the page: http://%v/ and http://%v/metrics\n", serve.Addr(), serve.Addr())
	}
	ended := make(chan error, 1)
	go func() { ended <- source(ctx, to) }()
	err := w.show(to, stop, ended)
	if errors.Is(err, capture.ErrCutShort) {
		fmt.Fprintf(cmd.ErrOrStderr(), "tcpwheel: %v; what comes before was watched\n", err)
		err = nil
	}
	if failed := to.Close(); err == nil {
		err = failed
	}
	if w.screen {
		w.print("\x1b[H\x1b[J")
	}
	s := to.Snapshot()
	if w.asJSON {
		w.encode(&s)
	} else if err == nil || s.Packets > 0 {
		lines := strings.Split(s.Summary(), "\n")
		for i, line := range lines {
			lines[i] = fillParagraph(line)
		}
		w.print(strings.Join(lines, "\n"))
	}
	if err == nil {
		err = w.failed()
	}
	return err
}

// show shows the last minute each time until the source ends, and returns its error. It stops the
// source if writing fails.
func (w *watching) show(to *watch.Watcher, stop func(), ended <-chan error) error {
	tick := time.NewTicker(cmp.Or(w.every, time.Second))
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if to.Err() != nil || w.failed() != nil {
				stop()
			} else if w.every > 0 {
				w.showOnce(to.Snapshot())
			}
		}
	}
}

func (w *watching) showOnce(s watch.Snapshot) {
	switch {
	case w.asJSON:
		w.encode(&s)
	case w.screen:
		w.print("\x1b[H\x1b[J" + s.Screen() + "\nCtrl-C ends it, with a summary.\n")
	default:
		w.print(s.Line() + "\n")
	}
}

// encode prints a record as a line.
func (w *watching) encode(record any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.enc.Encode(record), w.out.Flush()); w.wrote == nil {
		w.wrote = err
	}
}

func (w *watching) print(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.WriteString(text)
	if err = errors.Join(err, w.out.Flush()); w.wrote == nil {
		w.wrote = err
	}
}

// failed returns the first error of writing.
func (w *watching) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wrote
}
