package tailmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tun/netns"
	"tcpwheel/wheel"
)

// kernelTimes is the number of tails that the kernel loses in each setting: odd, for the median.
const kernelTimes = 9

// waits returns the earliest and the latest instant at which the rule lets the kernel retransmit a
// lone segment, counted from the last ACK before, or from its transmission. The rule is the probe
// of RFC 8985 §7.2, no later than the timer, from the kernel's own SRTT and RTO. It is rounded up
// to jiffies. The kernel's timer wheel adds up to a jiffy, from 63 jiffies on up to eight, from 504
// on up to 64, and so on.
func waits(k lone) (least, most time.Duration) {
	least = min(2*k.SRTT+maxAckDelay, k.RTO)
	least = (least + k.Jiffy - 1) / k.Jiffy * k.Jiffy
	step := k.Jiffy
	for least >= 63*step {
		step *= 8
	}
	return least, least + step
}

// beyond returns how far a wait is from the rule: below 0 if early, above 0 if late.
func beyond(k lone) time.Duration {
	least, most := waits(k)
	return min(k.Wait-least, 0) + max(k.Wait-most, 0)
}

// loseLasts loses a last segment so often, at once, and returns those of which the kernel was asked
// in time.
func loseLasts(ctx context.Context, rtt time.Duration, segments int) ([]lone, error) {
	var (
		mu  sync.Mutex
		all []lone
	)
	err := testbed.AtOnce(kernelTimes, kernelTimes, func(i int) error {
		time.Sleep(time.Duration(i) * 7 * time.Millisecond) // so that they do not wait for one another
		l, ok, err := loseLast(ctx, rtt, segments)
		mu.Lock()
		defer mu.Unlock()
		if ok {
			all = append(all, l)
		}
		return errors.Join(err, ctx.Err())
	})
	return all, err
}

// kernel measures the kernel's TCP, which loses a last segment at gVisor's round trips.
func kernel(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "kernel", Title: "The kernel's TCP of this machine: the last segment of a response is lost",
		Columns: []string{"round trip, ms", "segments", "kernel's SRTT, ms", "kernel's RTO, ms", "waited, ms",
			"rule from, ms", "to, ms", "within"},
	}
	off, settings, within, tails, unasked := 0, 0, 0, 0, 0
	for _, rtt := range p.GVisorRTTs {
		for _, segments := range p.GVisorSegments {
			all, err := loseLasts(ctx, rtt, segments)
			if err != nil {
				return nil, err
			}
			if len(all) <= kernelTimes/2 {
				unasked++
				continue
			}
			keep := 0
			for _, k := range all {
				if beyond(k) == 0 {
					keep++
				}
			}
			slices.SortFunc(all, func(a, b lone) int { return cmp.Compare(beyond(a), beyond(b)) })
			k := all[(len(all)-1)/2]
			settings, tails, within = settings+1, tails+len(all), within+keep
			if beyond(k) != 0 {
				off++
			}
			least, most := waits(k)
			table.Add(rtt, segments, k.SRTT, k.RTO, k.Wait, least, most, fmt.Sprintf("%d of %d", keep, len(all)))
		}
	}
	if settings == 0 {
		return nil, errors.New("this machine is too busy: its kernel could not be asked in time for SRTT and RTO")
	}
	out.Tables = append(out.Tables, table)
	if unasked > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d settings are left out: this machine was too busy to ask its "+
			"kernel in time for SRTT and RTO.", unasked))
	}
	out.Claim(experiments.Claim{
		Name: "kernel", Class: experiments.Law, Text: "the kernel retransmits a lone lost segment by the rule of " +
			"probe and timer, with its own SRTT and RTO", Source: "RFC 8985 §7.2",
		Tag: experiments.Standard, Measured: experiments.MeasuredText("the median off in %d of %d settings; %d of "+
			"%d tails within", off, settings, within, tails),
		Expected: experiments.Whether(off == 0 && tails > 0,
			"the median of each setting is between the earliest and the latest instant that its jiffies and its "+
				"wheel allow"),
	})
	return out, nil
}

const (
	kernelWarm    = 8 // responses before the one that counts, which teach the sender the round trip
	kernelPort    = 80
	kernelSegment = 1400 // bytes of a segment of a response: less than the kernel puts into one
	kernelLimit   = time.Minute
)

// lone is a lone segment in flight at the kernel: what its TCP knew, and how long it waited.
type lone struct {
	netns.KernelInfo

	// Wait is the time from the arrival of the last ACK of the other segments to the retransmission.
	// Without such an ACK it is the time from the transmission.
	Wait time.Duration
}

// repair observes a response whose last byte is lost once. The link calls its methods.
type repair struct {
	last uint64 // offset of that byte in the stream

	mu              sync.Mutex
	acked           tcp.Seq
	dropped, resent wheel.Time
	lastAck         wheel.Time // of new data, between the two
}

func (r *repair) sent(p netns.Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch has := p.FromServer && p.Model.Start <= r.last && r.last < p.Model.End; {
	case !has:
	case r.dropped == 0:
		r.dropped = p.At
	case r.resent == 0:
		r.resent = p.At
	}
}

func (r *repair) arrived(p netns.Packet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.FromServer || !p.Header.Ack.After(r.acked) && r.acked != 0 {
		return
	}
	r.acked = p.Header.Ack
	if r.dropped > 0 && r.resent == 0 {
		r.lastAck = p.At
	}
}

// loseLast loses the last segment of a response of the kernel's TCP. ok is false if the kernel
// retransmitted it before it was asked, as on a busy machine.
func loseLast(ctx context.Context, rtt time.Duration, segments int) (l lone, ok bool, err error) {
	size := segments * kernelSegment
	r := &repair{last: uint64((kernelWarm+1)*size - 1)}
	link := sim.LinkConfig{Delay: rtt / 2}
	lossy := link
	lossy.Loss = sim.Losses{sim.LostRanges{{From: r.last, To: r.last + 1, Attempt: 1}}}
	pair, err := netns.NewPair(netns.PairConfig{There: lossy, Back: link, Sent: r.sent, Arrived: r.arrived})
	if err != nil {
		return l, false, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	client, server, err := connect(ctx, pair)
	if err != nil {
		return l, false, err
	}
	defer func() { err = errors.Join(err, client.Close(), server.Close()) }()
	response, read := make([]byte, size), make(chan error, 1)
	for n := 0; n <= kernelWarm && err == nil; n++ {
		// The kernel resets the setting.
		if err = errors.Join(netns.SetQuickAck(client, true), request(client, server)); err != nil {
			break
		}
		go func() {
			_, err := io.ReadFull(client, response)
			read <- err
		}()
		if _, err = server.Write(make([]byte, size)); err == nil && n == kernelWarm {
			l.KernelInfo, ok, err = ask(server)
		}
		err = errors.Join(err, <-read)
		time.Sleep(60*time.Millisecond + 2*rtt) // longer than a delayed ACK
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.Wait = r.resent.Sub(max(r.dropped, r.lastAck))
	return l, ok, err
}

// connect returns both ends of a connection, which end with the context.
func connect(ctx context.Context, pair *netns.Pair) (client, server net.Conn, err error) {
	listener, _, err := pair.Listen(kernelPort)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if client, err = pair.Dial(ctx, 0, kernelPort); err != nil {
		return nil, nil, err
	}
	if server, err = listener.Accept(); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	for _, c := range []net.Conn{client, server} {
		if err := c.SetDeadline(time.Now().Add(kernelLimit)); err != nil {
			return nil, nil, errors.Join(err, client.Close(), server.Close())
		}
	}
	return client, server, nil
}

// request sends a byte to the server.
func request(client, server net.Conn) error {
	if _, err := client.Write([]byte{'?'}); err != nil {
		return err
	}
	_, err := io.ReadFull(server, make([]byte, 1))
	return err
}

// ask polls the kernel until a lone segment is in flight. ok is false if that segment was
// retransmitted or acknowledged before.
func ask(c net.Conn) (info netns.KernelInfo, ok bool, err error) {
	for {
		info, err = netns.ReadInfo(c)
		if err != nil || info.Retransmitted > 0 || info.Unacked == 0 {
			return info, false, err
		}
		if info.Unacked == 1 {
			return info, true, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
}
