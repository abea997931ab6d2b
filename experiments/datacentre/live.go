package datacentre

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Settings of the live part: an answer is one segment, and a pause is longer than any ACK waits.
// Queries of a group follow each other at once, so only the ACK of its last answer may wait.
const (
	livePort   = 80
	liveClient = 20000
	liveTrip   = time.Millisecond
	livePause  = 60 * time.Millisecond
	liveAnswer = 1000 // bytes
	liveGroup  = 10   // queries
	liveGroups = 15   // behind the first one
	liveLosses = 9    // queries behind them whose answer is lost once: odd, for the median
	liveAtOnce = 5    // settings, which mostly wait
)

// trial is a setting of the kernel, as commands for each end. NET and DEV are the subnet and the
// device of both.
type trial struct {
	name           string
	floor          time.Duration // that the server then has
	server, client []string
}

// trials returns the settings of the live part.
func trials() []trial {
	route := func(attributes string) []string { return []string{"ip route change NET dev DEV " + attributes} }
	const sysctl = "sysctl -qw net.ipv4.tcp_rto_min_us="
	both := func(name string, floor time.Duration, commands ...string) trial {
		return trial{name, floor, commands, commands}
	}
	const usual = 200 * time.Millisecond
	return []trial{
		{"as shipped", usual, nil, nil},
		{"floor, sender only", 5 * time.Millisecond, route("rto_min 5ms"), nil},
		both("floor, both ends", 5*time.Millisecond, route("rto_min 5ms")...),
		both("floor by sysctl", 5*time.Millisecond, sysctl+"5000"),
		both("floor 1 ms", time.Millisecond, route("rto_min 1ms")...),
		both("floor 200 us by route", 200*time.Microsecond, route("rto_min 200us")...),
		both("floor 200 us", 200*time.Microsecond, sysctl+"200"),
		both("route and sysctl", 40*time.Millisecond, sysctl+"5000", route("rto_min 40ms")[0]),
		{"no delayed ACKs", usual, nil, route("quickack 1")},
		both("fine timestamps", usual, route("features tcp_usec_ts")...),
	}
}

// Kernel is a setting of this machine's kernel: a row of the live part.
type Kernel struct {
	Setting string
	Server  string        // commands at the server, which sends most
	Client  string        // commands at the client
	Refused string        // what a command said that failed
	Done    bool          // whether the setting ran: by its commands, or else by netlink
	Floor   time.Duration // of the server's timeout, as set
	Jiffy   time.Duration // the tick of the kernel's timers
	SRTT    time.Duration // of the server, by TCP_INFO
	RTO     time.Duration // of the server
	ATO     time.Duration // of the client
	Fine    bool          // whether timestamps count microseconds

	Groups int           // of queries without a loss, each followed by a pause
	Waited time.Duration // median wait of the ACK of the last answer of a group
	Resent int           // of these answers, retransmitted
	Repair time.Duration // median time from a lost answer to its retransmission
}

// kernel tries the settings on this machine's kernel, in network namespaces that it makes and
// removes.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	these := trials()
	all := make([]Kernel, len(these))
	err := testbed.AtOnce(liveAtOnce, len(these), func(i int) (err error) {
		if all[i], err = these[i].run(ctx, p.Request); err != nil {
			return fmt.Errorf("%s: %w", these[i].name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return judgeKernel(p, all)
}

// wire is what is seen of the answers on the link.
type wire struct {
	mu      sync.Mutex
	arrived wheel.Time // of the last answer of a group, 0 once it is acknowledged
	sent    wheel.Time // of the last answer's first transmission
	lossy   bool       // the answers lose their first transmission
	waits   []float64  // of ACKs, in ns
	repairs []float64  // from a lost answer to its retransmission, in ns
	resent  int        // answers that were not lost
}

// onSent notes a packet that enters the link.
func (w *wire) onSent(p netns.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !p.FromServer:
		if p.Model.End == p.Model.Start && w.arrived > 0 {
			w.waits = append(w.waits, float64(p.At.Sub(w.arrived)))
		}
		w.arrived = 0
	case p.Model.End == p.Model.Start:
	case p.Model.Attempt <= 1:
		w.sent = p.At
	case w.lossy && p.Model.Attempt == 2:
		w.repairs = append(w.repairs, float64(p.At.Sub(w.sent)))
	case !w.lossy:
		w.resent++
	}
}

// onArrived notes a packet that leaves the link.
func (w *wire) onArrived(p netns.Packet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := p.Model.Start / liveAnswer; p.FromServer && p.Model.End > p.Model.Start && n%liveGroup == liveGroup-1 {
		w.arrived = p.At
	}
}

// lost is a rule of testbed.StreamLoss: all answers behind the first ones lose a transmission.
func lost(_ wheel.Time, start, _ uint64, attempt uint32) bool {
	return attempt == 1 && start/liveAnswer >= liveGroup*(1+liveGroups)
}

// run sets a kernel at each end of a link and measures.
func (t trial) run(ctx context.Context, request int) (k Kernel, err error) {
	k = Kernel{Setting: t.name, Server: strings.Join(t.server, "; "), Client: strings.Join(t.client, "; "), Floor: t.floor}
	w := &wire{}
	there := sim.LinkConfig{Delay: liveTrip / 2, Loss: sim.Losses{&testbed.StreamLoss{Rule: lost}}}
	pair, err := netns.NewPair(netns.PairConfig{There: there, Back: sim.LinkConfig{Delay: liveTrip / 2}, Sent: w.onSent,
		Arrived: w.onArrived})
	if err != nil {
		return k, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	for _, end := range []struct {
		server   bool
		commands []string
	}{{true, t.server}, {false, t.client}} {
		for _, command := range end.commands {
			if err := pair.In(end.server, func() error { return set(ctx, command, &k) }); err != nil {
				return k, nil // refused
			}
		}
	}
	k.Done = true
	return k, k.measure(ctx, pair, w, request)
}

// set runs a command in the namespace of the calling thread. iproute2 before 6.7 does not know the
// feature tcp_usec_ts; it is then set by netlink.
func set(ctx context.Context, command string, k *Kernel) error {
	words := strings.Fields(strings.NewReplacer("NET", netns.PairSubnet, "DEV", netns.PairDevice).Replace(command))
	out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput()
	if err == nil {
		return nil
	}
	k.Refused, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	if k.Refused == "" {
		k.Refused = err.Error()
	}
	if strings.HasSuffix(command, "tcp_usec_ts") {
		return netns.SetFineTimestamps()
	}
	return err
}

// measure asks the server, first without a loss and then with one in each answer.
func (k *Kernel) measure(ctx context.Context, pair *netns.Pair, w *wire, request int) error {
	l, _, err := pair.Listen(livePort)
	if err != nil {
		return err
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if c, err := l.Accept(); err == nil {
			accepted <- c
		}
	}()
	c, err := pair.Dial(ctx, liveClient, livePort)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server, ok := <-accepted
	if !ok {
		return errors.Join(errors.New("the server accepted no connection"), c.Close(), l.Close())
	}
	in, out := make([]byte, liveAnswer), make([]byte, request)
	pause := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(livePause):
			return nil
		}
	}
	for group := 0; group <= liveGroups && err == nil; group++ {
		for n := 0; n < liveGroup && err == nil; n++ {
			err = exchange(c, server, out, in)
		}
		if group == 0 { // no ACK has waited yet
			err = errors.Join(err, k.read(server, c))
		}
		err = errors.Join(err, pause())
	}
	w.mu.Lock()
	k.Groups, k.Resent, k.Waited = liveGroups+1, w.resent, time.Duration(stat.Median(w.waits))
	w.lossy = true
	w.mu.Unlock()
	for n := 0; n < liveLosses && err == nil; n++ {
		err = errors.Join(exchange(c, server, out, in), pause())
	}
	w.mu.Lock()
	k.Repair = time.Duration(stat.Median(w.repairs))
	w.mu.Unlock()
	return errors.Join(err, c.Close(), server.Close(), l.Close())
}

// exchange sends a request and its answer.
func exchange(client, server net.Conn, request, answer []byte) error {
	if _, err := client.Write(request); err != nil {
		return err
	}
	if _, err := io.ReadFull(server, make([]byte, len(request))); err != nil {
		return err
	}
	if _, err := server.Write(answer); err != nil {
		return err
	}
	_, err := io.ReadFull(client, answer)
	return err
}

// read reads what the kernels of both ends know of the connection.
func (k *Kernel) read(server, client net.Conn) error {
	at, err := netns.ReadInfo(server)
	if err != nil {
		return err
	}
	k.Jiffy, k.SRTT, k.RTO, k.Fine = at.Jiffy, at.SRTT, at.RTO, at.FineTimestamps
	if at, err = netns.ReadInfo(client); err != nil {
		return err
	}
	k.ATO = at.ATO
	return nil
}

// judgeKernel judges the settings of this machine's kernel.
func judgeKernel(_ *Plan, all []Kernel) (*experiments.Outcome, error) {
	done := judge.Where(all, func(k *Kernel) bool { return k.Done })
	of := func(name string) *Kernel {
		if i := slices.IndexFunc(done, func(k Kernel) bool { return k.Setting == name }); i >= 0 {
			return &done[i]
		}
		return nil
	}
	// These return milliseconds, or NaN for a setting that did not run.
	rto := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.RTO) }) }
	ato := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.ATO) }) }
	allowed := func(name string) float64 { return of(name).ms((*Kernel).allowed) }
	const route, sysctl, fine, lowest = "floor, both ends", "floor by sysctl", "fine timestamps", "floor 200 us"
	const sender, both, shipped, quick = "floor, sender only", "route and sysctl", "as shipped", "no delayed ACKs"
	claim := func(name, text, source string, measured experiments.Measure, expected experiments.Band) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.Law, Tag: experiments.FromSource, Text: text,
			Source: source, Measured: measured, Expected: expected}
	}
	resent := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return float64(k.Resent) }) }
	groups := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return float64(k.Groups) }) }
	ms := func(k *Kernel) float64 { return judge.Ms(k.Jiffy) }
	srtt := judge.Mean(done, func(k *Kernel) float64 { return judge.Ms(k.SRTT) })
	waited := func(name string) float64 { return of(name).ms(func(k *Kernel) float64 { return judge.Ms(k.Waited) }) }

	timeout := claim("rto", "the kernel's timeout is its rto_min in whole jiffies and the round trip, rounded up to "+
		"jiffies",
		"Linux: tcp_rto_min, tcp_set_rto",
		judge.Known("in ms, at HZ %v: %s", 1000/of(shipped).ms(ms), judge.Listing(judge.By(done,
			func(k *Kernel) string { return k.Setting }), func(g *judge.Group[string, Kernel]) string {
			return judge.Say("%s %v", g.Key, rto(g.Key))
		})),
		experiments.Whether(judge.All(done, func(k *Kernel) bool {
			x := judge.Ms(k.RTO)
			return x > k.least() && x <= k.least()+srtt+2*judge.Ms(k.Jiffy)
		}), "above the floor in jiffies, by the round trip and two jiffies at most"))
	set := []string{route, sysctl, lowest, "floor 1 ms", both}
	acks := claim("ato", "where rto_min is set at both ends, by route or by sysctl, an ACK may wait a jiffy less, and at "+
		"least one", "Linux commits bbf80d7 (route) and of May 2024, derive delack_max with tcp_rto_min helper (sysctl)",
		judge.Known("in ms: %v with rto_min 5ms, %v with tcp_rto_min_us=5000, %v with 200, %v with rto_min 40ms",
			ato(route), ato(sysctl), ato(lowest), ato(both)),
		experiments.Whether(judge.All(done, func(k *Kernel) bool {
			return !slices.Contains(set, k.Setting) || judge.Ms(k.ATO) == k.allowed()
		}), "%s", judge.Say("%v, %v, %v and %v", allowed(route), allowed(sysctl), allowed(lowest), allowed(both))))
	acks.Published = "rto:6 … ato:4, at HZ 1000"
	const commit = "Modern days datacenter communications want to set rto_min to ~5 ms, and the max delayed ack one " +
		"jiffie smaller to avoid spurious retransmits."
	precedence := claim("precedence", "the route's rto_min outranks the sysctl",
		"Linux, Documentation/networking/ip-sysctl.rst, tcp_rto_min_us",
		judge.Known("a timeout of %v ms, and ACKs that wait %v, with 40 ms by route and 5 by sysctl; %v and %v with the "+
			"sysctl alone", rto(both), ato(both), rto(sysctl), ato(sysctl)),
		experiments.Whether(rto(both) > 40 && ato(both) > ato(sysctl),
			"above 40 ms, and ACKs that wait longer than with the sysctl alone"))
	precedence.Class, precedence.Basis = experiments.OfOthers, "the order as printed"
	precedence.Published = "the rto_min route option has the highest precedence"
	precedence.Look = experiments.Look{Read: experiments.ReadCode,
		At: "tcp_rto_min_us, and the message of the commit that added it",
		Quote: "Note that the rto_min route option has the highest precedence for configuring this setting, followed by " +
			"the TCP_BPF_RTO_MIN socket option, followed by this tcp_rto_min_us sysctl.",
		Turns: "nothing that was tried"}
	if of(both) == nil {
		precedence.Unless = "this kernel has no tcp_rto_min_us"
	}
	spurious := claim("spurious", "a floor at the sender alone makes it retransmit for ACKs that wait, and a floor at "+
		"both ends does not", "Linux commit bbf80d7",
		judge.Known("%v and %v retransmissions in %v groups of ten answers, without a loss; as shipped %v", resent(sender),
			resent(route), groups(route), resent(shipped)),
		experiments.Whether(resent(sender) >= groups(sender)/2 && resent(route) <= groups(route)/10,
			"at least half as many as groups, and at most a tenth"))
	spurious.Class, spurious.Published = experiments.OfOthers,
		"the max delayed ack one jiffie smaller to avoid spurious retransmits"
	spurious.Basis = "the order as printed; half as many as groups, and a tenth at most, as this machine may be busy"
	spurious.Look = experiments.Look{Read: experiments.ReadCode, At: "message of the commit", Quote: commit,
		Turns: "nothing that was tried"}
	quickack := claim("quickack", "the route attribute quickack lets no ACK wait, which otherwise wait some 40 ms",
		"Linux: RTAX_QUICKACK", judge.Known("%v ms, median, with it, and %v ms without", waited(quick), waited(shipped)),
		experiments.Whether(waited(quick) < of(shipped).ms(ms) && waited(shipped) >= 36,
			"less than a jiffy, and 36 ms or more"))
	fines := func(name string) int {
		return judge.Count(done, func(k *Kernel) bool { return k.Setting == name && k.Fine })
	}
	stamps := claim("stamps", "the route's feature tcp_usec_ts makes timestamps count microseconds", "Linux commit "+
		"614e831",
		judge.Said("%d of 1", fines(fine)), experiments.Whether(fines(fine) > 0 && fines(shipped) == 0,
			"with it, and not as shipped"))
	if of(fine) == nil {
		stamps.Unless = "this kernel has no tcp_usec_ts"
	}
	out := &experiments.Outcome{}
	out.Judge(timeout, acks, precedence, spurious, quickack, stamps)
	out.Tables = append(out.Tables, kernelTable(all))
	return out, nil
}

// ms returns a number of a setting, NaN of one that did not run.
func (k *Kernel) ms(of func(*Kernel) float64) float64 {
	if k == nil {
		return math.NaN()
	}
	return of(k)
}

// least returns the floor in whole jiffies, and allowed the wait of an ACK that it allows, in ms.
func (k *Kernel) least() float64 {
	tick := judge.Ms(k.Jiffy)
	return math.Ceil(judge.Ms(k.Floor)/tick) * tick
}

func (k *Kernel) allowed() float64 {
	tick := judge.Ms(k.Jiffy)
	return min(40, max(k.least()-tick, tick))
}

func kernelTable(all []Kernel) experiments.Table {
	t := experiments.Table{Name: "kernel", Title: "This machine's kernel, a round trip of 1 ms: what each setting does",
		Columns: []string{"setting", "at the server", "at the client", "refused", "RTO, ms", "ATO, ms", "ACKs waited, ms",
			"retransmissions without a loss", "groups of answers", "repair of a lost answer, ms"}}
	for _, k := range all {
		row := []any{k.Setting, k.Server, k.Client, k.Refused, "", "", "", "", k.Groups, ""}
		if k.Done {
			row = append(row[:4], judge.Ms(k.RTO), judge.Ms(k.ATO), judge.Ms(k.Waited), k.Resent, k.Groups,
				judge.Ms(k.Repair))
		}
		t.Add(row...)
	}
	return t
}
