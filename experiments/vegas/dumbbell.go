package vegas

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// kb is the bytes of the paper's KB.
const kb = 1024

// bottleneck is the network of the paper's simulations. Pairs of hosts on fast links share it.
type bottleneck struct {
	rate    int           // bit/s
	buffers int           // packets
	delay   time.Duration // one way
	access  int           // bit/s of the hosts' links

	sendBuffer    int // bytes, of each transfer
	initialWindow int // segments
	old           testbed.Timers
}

// transfer is a transfer of so many bytes, and its result. Its hosts send nothing else.
type transfer struct {
	timers testbed.Timers // of the sender
	bytes  int
	start  time.Duration

	of           *dumbbell
	sender, to   *host.Host
	record       testbed.Record
	silence      silences
	begun, ended wheel.Time
	done, failed bool
}

// transferred is the result of a transfer.
type transferred struct {
	Took          time.Duration `json:"took_s"` // from the SYN to the ACK of the last byte
	Timeouts      int           `json:"timeouts"`
	Retransmitted int           `json:"retransmitted"` // bytes
	Silence       time.Duration `json:"silence_s"`     // without transmission before timeouts, in all
}

// dumbbell is transfers and, of the last pair, the traffic of others over a bottleneck.
type dumbbell struct {
	*testbed.Dumbbell
	bottleneck
	seed      int
	transfers []*transfer
}

// dumbbell makes the hosts and links. Seed and key, which names the study, decide all chance.
func (b bottleneck) dumbbell(seed int, key uint64, transfers ...*transfer) (*dumbbell, error) {
	d := &dumbbell{bottleneck: b, seed: seed, transfers: transfers}
	var err error
	d.Dumbbell, err = testbed.NewDumbbell(testbed.DumbbellPlan{
		Seed: testbed.Key(uint64(seed), key, uint64(b.buffers)), Pairs: len(transfers) + 1, Host: d.host,
		Access:     []sim.LinkConfig{{Rate: uint64(b.access), Delay: time.Millisecond}},
		Bottleneck: sim.LinkConfig{Rate: uint64(b.rate), Queue: sim.Limit{Packets: uint32(b.buffers)}, Delay: b.delay},
		Return:     &sim.LinkConfig{Rate: uint64(b.rate), Delay: b.delay},
		Serve:      func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }, Verify: true,
	})
	if err != nil {
		return nil, err
	}
	for i, t := range transfers {
		t.of, t.sender, t.to = d, d.Senders[i], d.Receivers[i]
		d.World.Net.StartTimer(d.World.Net.NewTimer(t), wheel.Time(max(t.start, 1)))
	}
	return d, nil
}

// host returns the host of a pair on a side: 0 sends. The last pair is that of the traffic. All
// receivers are those of the old TCP, but for the options of their sender.
func (d *dumbbell) host(side, i int) (netip.Addr, tcp.EngineConfig) {
	cfg := d.old.Config()
	var trace tcp.Tracer
	if i < len(d.transfers) {
		t := d.transfers[i]
		sender := t.timers.Config()
		cfg.SACK, cfg.Timestamps = sender.SACK, sender.Timestamps
		if side == 0 {
			t.record.Next = &t.silence
			cfg, trace = sender, &t.record
		}
	}
	cfg.Congestion.InitialWindow = uint32(d.initialWindow * mss)
	return netip.AddrFrom4([4]byte{10, byte(side + 1), 0, byte(i + 1)}), tcp.EngineConfig{
		Conn: cfg, Seed: testbed.Key(uint64(d.seed), uint64(side), uint64(i)), Trace: trace,
		Key: [16]byte{0: byte(1 + side), 1: byte(1 + i), 2: byte(d.seed), 3: byte(d.seed >> 8)},
	}
}

// others returns the sender and the receiver of the traffic.
func (d *dumbbell) others() (from, to *host.Host) {
	return d.Senders[len(d.transfers)], d.Receivers[len(d.transfers)]
}

// Expire implements sim.Handler: the transfer begins. It ends with the last ACK.
func (t *transfer) Expire(now wheel.Time) {
	t.begun = now
	watch := func(now wheel.Time, s *host.Session, ev tcp.Events) {
		if ev.Has(tcp.EventClosed) && !t.done {
			t.failed = true
		}
		if ev.Has(tcp.EventSent) && s.Wrote() == uint64(t.bytes) && !t.done {
			t.done, t.ended = true, now
		}
	}
	_, err := t.sender.Dial(t.to, testbed.ServePort, nil,
		host.Apps{&host.Bulk{Bytes: uint64(t.bytes), Buffer: uint32(t.of.sendBuffer)}, host.AppFunc(watch)})
	t.failed = err != nil
}

// run runs all transfers to their ends.
func (d *dumbbell) run() ([]transferred, error) {
	var all []transferred
	for _, t := range d.transfers {
		for until := d.World.Net.Now(); !t.done; {
			if until = until.Add(time.Second); until > wheel.Time(2*time.Hour) || t.failed {
				return nil, fmt.Errorf("a transfer has not ended at %v", until)
			}
			d.World.Net.Run(until)
		}
	}
	if faults := d.World.Faults(); len(faults) > 0 {
		return nil, faults[0]
	}
	for _, t := range d.transfers {
		r := transferred{Took: t.ended.Sub(t.begun), Timeouts: int(t.sender.Counters().TCPTimeouts),
			Silence: t.silence.sum}
		for i := range t.record.Retransmissions {
			r.Retransmitted += int(t.record.Retransmissions[i].Len)
		}
		all = append(all, r)
	}
	return all, nil
}

// silences is a tcp.Tracer that adds up the times without transmission before timeouts.
type silences struct {
	last wheel.Time // last transmission of data
	sum  time.Duration
}

// Trace implements tcp.Tracer.
func (s *silences) Trace(ev *tcp.TraceEvent) {
	if ev.Kind != tcp.TraceSent || ev.Len == 0 {
		return
	}
	if ev.Timed && ev.Timer == tcptimers.Rexmit && ev.Rexmit > 0 {
		s.sum += ev.T.Sub(s.last)
	}
	s.last = ev.T
}
