package replay

import (
	"fmt"
	"net/netip"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Key is what a transmission of the replay is matched with the captured ones by.
type Key uint8

const (
	// ByRange: the n-th transmission of octets fares as the n-th did in the capture. It flatters a policy that sends again sooner, if
	// what lost the first copies would have lost more of them.
	ByRange Key = iota

	// ByTime: what is sent fares as what was sent then. Where something was lost, all is that is sent after the last packet before that
	// arrived, and before the next one that did. It is hard on a policy that sends again sooner.
	ByTime

	// ByIndex: the n-th packet with octets fares as the n-th did.
	ByIndex

	Keys = int(iota) // how many there are
)

var keyNames = [Keys]string{"range", "time", "index"}

// String returns "range", "time" or "index".
func (k Key) String() string { return keyNames[min(int(k), Keys-1)] }

// Options are how a script is run.
type Options struct {
	Policy    tcptimers.Policy // of both ends, but for their ACKs
	Key       Key
	Control   string // of congestion; "" is newreno
	OwnWindow bool   // congestion control alone decides when what was never sent leaves, and not the captured windows
	OwnACKs   bool   // both ends acknowledge by the policy, and not as in the capture
	Drift     bool   // recoveries are those of one run from end to end, and not each of one that follows the capture up to the loss
}

// Event is a packet, as it passes the point of capture.
type Event struct {
	At    wheel.Time `json:"at"`
	Flow  int        `json:"flow"`
	Flags tcp.Flags  `json:"flags"`
	Start uint64     `json:"start"`
	End   uint64     `json:"end"`
	Ack   uint64     `json:"ack"`
}

// slackAfter is how much longer than the capture a replay may go on.
const slackAfter = 10 * time.Minute

// lingers is how long a replay goes on when all is done.
const lingers = time.Second

// A replay has at most so many events for each transmission of the capture, and so many more.
const stepsEach, stepsMore = 50, 20_000

// Run lets the connection happen under other timers. The same script and options give the same outcome, to the nanosecond. It costs about
// a microsecond for each packet, and for each that comes before a loss, but not more than some seconds for all losses; its memory grows with
// the packets.
func (s *Script) Run(o Options) (*Outcome, error) {
	r := &run{script: s, options: o, out: &Outcome{Policy: o.Policy.Name, Key: o.Key}}
	if err := r.build(); err != nil {
		return nil, err
	}
	r.steps(s.End.Add(slackAfter), r.over)
	if faults := r.world.Faults(); len(faults) > 0 {
		return nil, fmt.Errorf("BUG: %w", faults[0])
	}
	r.settle()
	if !o.Drift {
		if err := r.recoveries(); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// steps lets things happen up to an instant, or until it is over, and a little longer.
func (r *run) steps(end wheel.Time, over func() bool) {
	steps := stepsMore
	for d := range r.script.Ways {
		steps += stepsEach * r.script.Ways[d].Sent
	}
	for n := 0; n < steps && r.world.Net.Now() < end && r.world.Net.Step(); n++ {
		if over() {
			end = min(end, r.world.Net.Now().Add(lingers)) // for the last ACK
		}
	}
}

// run is a replay at work.
type run struct {
	script  *Script
	options Options
	out     *Outcome

	world *host.World
	hosts [2]*host.Host
	paths [2]*path
	apps  [2]*app

	follower *follower // nil if the capture is not followed
}

const serverPort = 80

// build sets the network up.
func (r *run) build() error {
	s := r.script
	w, err := host.NewWorld(sim.Config{Seed: 1})
	if err != nil {
		return err
	}
	r.world = w
	addrs := [2]netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, 1}), netip.AddrFrom4([4]byte{10, 0, 0, 2})}
	if s.IPv6 {
		addrs = [2]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}
	}
	var nodes [2]sim.NodeID
	var cfgs [2]tcp.EngineConfig
	for d := range r.hosts {
		if cfgs[d], err = r.config(d); err != nil {
			return err
		}
		if !r.options.OwnACKs {
			cfgs[d].Conn.Policy.DelAck = tcptimers.DelAckConfig{Every: 1} // they are held back on their way
		}
		if r.hosts[d], err = w.NewHost(addrs[d], cfgs[d]); err != nil {
			return err
		}
		if nodes[d], err = w.Net.AddNode([2]string{"client", "server"}[d], r.hosts[d]); err != nil {
			return err
		}
	}
	middle, err := w.Net.AddNode("path", r)
	if err != nil {
		return err
	}
	for d, h := range r.hosts {
		up, down, err := w.Net.Connect(nodes[d], middle, sim.LinkConfig{}, sim.LinkConfig{})
		if err != nil {
			return err
		}
		if err := w.Attach(h, nodes[d], up); err != nil {
			return err
		}
		if r.paths[1-d] == nil {
			r.paths[1-d] = &path{}
		}
		r.paths[1-d].out = down
	}
	for d := range r.paths {
		r.paths[d].begin(r, d)
		if !r.options.OwnACKs {
			r.paths[d].answers = newAnswering(r.paths[d], &s.Ends[d])
		}
		r.apps[d] = newApp(r, d)
	}
	if err := r.hosts[1].Listen(serverPort, tcp.ListenConfig{Backlog: 1}, func() host.App { return r.apps[1] }); err != nil {
		return err
	}
	w.Net.StartTimer(w.Net.NewTimer(dialer{r}), s.Begin)
	return nil
}

// dialer opens the connection when it is time.
type dialer struct{ r *run }

// Expire implements sim.Handler.
func (d dialer) Expire(wheel.Time) {
	var err error
	if d.r.apps[0].session, err = d.r.hosts[0].Dial(d.r.hosts[1], serverPort, nil, d.r.apps[0]); err != nil {
		d.r.apps[0].closed = true
	}
}

// config is that of an engine.
func (r *run) config(d int) (tcp.EngineConfig, error) {
	e := &r.script.Ends[d]
	policy := r.options.Policy
	if !r.options.OwnACKs {
		policy.DelAck = e.ACKs
	}
	policy.Keepalive = false
	if policy.Phase == tcptimers.PhaseJiffies {
		if origin, ok := ticks(&policy, e.Timed); ok {
			policy.Origin = origin
		}
	}
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(policy), Seed: 1 + uint64(d)}
	cfg.Key[0] = byte(d + 1)
	c := &cfg.Conn
	c.Control = r.options.Control
	if c.Control == "" {
		c.Control = "newreno"
	}
	c.SACK, c.Timestamps, c.WScale = e.SACK, e.Timestamps, e.WScale
	if !e.WScale {
		c.WScale = e.Window > 65535
	}
	c.RecvBuffer, c.RecvBufferMax = max(e.Window, 1), 0
	c.Socket.NoDelay = true
	c.Congestion.InitialWindow = e.Flight
	c.Script = &tcp.Script{}
	if !r.options.OwnACKs {
		c.Script.Slack = takesACKs
	}
	if !r.options.OwnWindow {
		c.Script.Limits = e.Permits
	}
	headers := 40
	if r.script.IPv6 {
		headers = 60
	}
	cfg.MTU = max(int(r.script.Ends[0].MSS), int(r.script.Ends[1].MSS)) + headers
	c.Socket.MaxSeg = max(e.MSS, tcp.MinMSS)
	return cfg, cfg.Conn.Check()
}

// over reports whether nothing more can happen: both ends are closed, or all is written, received and acknowledged.
func (r *run) over() bool {
	a, b := r.apps[0], r.apps[1]
	if a.closed && (b.closed || b.session == nil) {
		return true
	}
	return a.finished() && b.finished() && a.received() == b.written() && b.received() == a.written() &&
		r.paths[0].idle() && r.paths[1].idle() && a.unacked() == 0 && b.unacked() == 0
}
