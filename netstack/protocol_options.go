package netstack

import (
	"math"
	"slices"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// protocolOptions holds the protocol's options. They are gVisor's, with gVisor's defaults unless
// Config has a value.
type protocolOptions struct {
	sack           bool
	recovery       tcpip.TCPRecovery
	delay          bool
	send           tcpip.TCPSendBufferSizeRangeOption
	recv           tcpip.TCPReceiveBufferSizeRangeOption
	control        string
	moderate       bool
	linger         time.Duration
	timeWait       time.Duration
	timeWaitSet    bool // otherwise the policy decides
	timeWaitReuse  tcpip.TCPTimeWaitReuseOption
	minRTO, maxRTO time.Duration
	maxRetries     uint32
	retriesSet     bool // otherwise the policy decides when to give up
	synRetries     uint8
	synRetriesSet  bool // otherwise the policy decides how long to retransmit a SYN
	alwaysCookies  bool
}

// controls holds the names of the congestion controls. gVisor's reno recovers as NewReno; it is the
// engine's newreno.
var controls = func() (names []string) {
	for _, name := range congestion.Names() {
		names = append(names, strings.TrimPrefix(name, "new"))
	}
	return names
}()

// engineControl returns the engine's name for a congestion control.
func engineControl(name string) string {
	if name == "reno" {
		return "newreno"
	}
	return name
}

func (o *protocolOptions) init(c *tcp.Config) {
	*o = protocolOptions{
		sack: c.SACK,
		send: tcpip.TCPSendBufferSizeRangeOption{
			Min: gtcp.MinBufferSize, Default: gtcp.DefaultSendBufferSize, Max: gtcp.MaxBufferSize,
		},
		recv: tcpip.TCPReceiveBufferSizeRangeOption{
			Min: gtcp.MinBufferSize, Default: gtcp.DefaultReceiveBufferSize, Max: gtcp.MaxBufferSize,
		},
		control:       strings.TrimPrefix(c.Control, "new"),
		moderate:      true,
		linger:        c.Policy.FinWait2,
		timeWait:      2 * c.Policy.MSL,
		timeWaitReuse: tcpip.TCPTimeWaitReuseLoopbackOnly,
		minRTO:        c.Policy.Bounds.Min,
		maxRTO:        c.Policy.Bounds.Max,
		maxRetries:    gtcp.MaxRetries,
		synRetries:    synRetries(&c.Policy),
	}
	if n := c.Policy.MaxRexmits; n > 0 {
		o.maxRetries = uint32(n)
	}
	if c.Policy.RACK {
		o.recovery = tcpip.TCPRACKLossDetection
	}
}

// SetOption implements stack.TransportProtocol.
func (p *protocol) SetOption(option tcpip.SettableTransportProtocolOption) tcpip.Error {
	err := p.setOption(option)
	if _, ok := option.(*tcpip.TCPTimeWaitTimeoutOption); ok && err == nil {
		// As in gVisor, connections that are open already use the new value.
		for _, e := range p.stack.RegisteredEndpoints() {
			if e, ok := e.(*Endpoint); ok {
				e.socketOptionChanged()
			}
		}
	}
	return err
}

// timeWaitOption returns the time in TIME-WAIT that a program has set, or 0. RFC 9293 §3.4.2 limits
// it: twice an MSL of two minutes.
func (p *protocol) timeWaitOption() time.Duration {
	o := p.options()
	if !o.timeWaitSet {
		return 0
	}
	return min(max(o.timeWait, time.Nanosecond), 4*time.Minute)
}

func (p *protocol) setOption(option tcpip.SettableTransportProtocolOption) tcpip.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &p.opts
	switch v := option.(type) {
	case *tcpip.TCPSACKEnabled:
		o.sack = bool(*v)
	case *tcpip.TCPRecovery:
		o.recovery = *v
	case *tcpip.TCPDelayEnabled:
		o.delay = bool(*v)
	case *tcpip.TCPSendBufferSizeRangeOption:
		if v.Min <= 0 || v.Default < v.Min || v.Default > v.Max {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.send = *v
	case *tcpip.TCPReceiveBufferSizeRangeOption:
		if v.Min <= 0 || v.Default < v.Min || v.Default > v.Max {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.recv = *v
	case *tcpip.CongestionControlOption:
		if !slices.Contains(controls, string(*v)) {
			return &tcpip.ErrNoSuchFile{} // Linux's ENOENT
		}
		o.control = string(*v)
	case *tcpip.TCPModerateReceiveBufferOption:
		o.moderate = bool(*v)
	case *tcpip.TCPLingerTimeoutOption:
		o.linger = max(time.Duration(*v), 0)
	case *tcpip.TCPTimeWaitTimeoutOption:
		o.timeWait, o.timeWaitSet = max(time.Duration(*v), 0), true
	case *tcpip.TCPTimeWaitReuseOption:
		if *v < tcpip.TCPTimeWaitReuseDisabled || *v > tcpip.TCPTimeWaitReuseLoopbackOnly {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.timeWaitReuse = *v
	case *tcpip.TCPMinRTOOption:
		return o.setRTOBounds(orDefault(*v, p.conn.Policy.Bounds.Min), o.maxRTO)
	case *tcpip.TCPMaxRTOOption:
		return o.setRTOBounds(o.minRTO, orDefault(*v, p.conn.Policy.Bounds.Max))
	case *tcpip.TCPMaxRetriesOption:
		o.maxRetries, o.retriesSet = uint32(*v), true
	case *tcpip.TCPAlwaysUseSynCookies:
		o.alwaysCookies = bool(*v)
	case *tcpip.TCPSynRetriesOption:
		if *v < 1 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.synRetries, o.synRetriesSet = uint8(*v), true
	default:
		return &tcpip.ErrUnknownProtocolOption{}
	}
	return nil
}

// orDefault returns an RTO option's value. Below 0 it is the configuration's.
func orDefault[T ~int64](v T, d time.Duration) time.Duration {
	if v < 0 {
		return d
	}
	return time.Duration(v)
}

func (o *protocolOptions) setRTOBounds(least, most time.Duration) tcpip.Error {
	if least > most {
		return &tcpip.ErrInvalidOptionValue{}
	}
	o.minRTO, o.maxRTO = least, most
	return nil
}

// Option implements stack.TransportProtocol.
func (p *protocol) Option(option tcpip.GettableTransportProtocolOption) tcpip.Error {
	o := p.options()
	switch v := option.(type) {
	case *tcpip.TCPSACKEnabled:
		*v = tcpip.TCPSACKEnabled(o.sack)
	case *tcpip.TCPRecovery:
		*v = o.recovery
	case *tcpip.TCPDelayEnabled:
		*v = tcpip.TCPDelayEnabled(o.delay)
	case *tcpip.TCPSendBufferSizeRangeOption:
		*v = o.send
	case *tcpip.TCPReceiveBufferSizeRangeOption:
		*v = o.recv
	case *tcpip.CongestionControlOption:
		*v = tcpip.CongestionControlOption(o.control)
	case *tcpip.TCPAvailableCongestionControlOption:
		*v = tcpip.TCPAvailableCongestionControlOption(strings.Join(controls, " "))
	case *tcpip.TCPModerateReceiveBufferOption:
		*v = tcpip.TCPModerateReceiveBufferOption(o.moderate)
	case *tcpip.TCPLingerTimeoutOption:
		*v = tcpip.TCPLingerTimeoutOption(o.linger)
	case *tcpip.TCPTimeWaitTimeoutOption:
		*v = tcpip.TCPTimeWaitTimeoutOption(o.timeWait)
	case *tcpip.TCPTimeWaitReuseOption:
		*v = o.timeWaitReuse
	case *tcpip.TCPMinRTOOption:
		*v = tcpip.TCPMinRTOOption(o.minRTO)
	case *tcpip.TCPMaxRTOOption:
		*v = tcpip.TCPMaxRTOOption(o.maxRTO)
	case *tcpip.TCPMaxRetriesOption:
		*v = tcpip.TCPMaxRetriesOption(o.maxRetries)
	case *tcpip.TCPAlwaysUseSynCookies:
		*v = tcpip.TCPAlwaysUseSynCookies(o.alwaysCookies)
	case *tcpip.TCPSynRetriesOption:
		*v = tcpip.TCPSynRetriesOption(o.synRetries)
	default:
		return &tcpip.ErrUnknownProtocolOption{}
	}
	return nil
}

// SendBufferSize implements stack.SendBufSizeProto.
func (p *protocol) SendBufferSize() tcpip.TCPSendBufferSizeRangeOption { return p.options().send }

func (p *protocol) options() protocolOptions {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.opts
}

// config returns the configuration of an endpoint's connection. Equal configurations are shared.
func (p *protocol) config(e *endpointOptions, fixedRecv bool, socket tcp.SocketOptions, recvBuffer uint32) *tcp.Config {
	return p.share(p.makeConfig(e, fixedRecv, socket, recvBuffer))
}

// makeConfig makes the configuration of an endpoint's connection from the options of the stack and
// of the endpoint. It clamps options that are out of the engine's bounds. The receive buffer grows
// unless fixedRecv.
func (p *protocol) makeConfig(e *endpointOptions, fixedRecv bool, socket tcp.SocketOptions, recvBuffer uint32) (c tcp.Config) {
	o := p.options()
	c = p.conn
	c.Control = engineControl(e.control)
	c.SACK = o.sack
	if own := e.socketConfig; own != nil {
		c.Policy, c.ECN, c.Pacing, c.VegasCheck = own.Policy, own.ECN, own.Pacing, own.VegasCheck
	} else {
		o.bound(&c.Policy)
	}
	if e.synRetriesSet {
		c.Policy.SynR2 = synR2(e.synRetries, c.Policy.Bounds)
	}
	c.Socket = socket
	const most = 65535 << tcp.MaxWScale
	c.RecvBuffer, c.RecvBufferMax = min(max(recvBuffer, 1), most), 0
	if o.moderate && !fixedRecv {
		c.RecvBufferMax = uint32(min(max(o.recv.Max, 0), most))
	}
	return c
}

// bound applies the stack's options to a policy.
func (o *protocolOptions) bound(p *tcptimers.Policy) {
	const least, most = time.Nanosecond, 24 * time.Hour // bounds of tcptimers.Bounds
	p.Bounds.Min = min(max(o.minRTO, least), most)
	p.Bounds.Max = min(max(o.maxRTO, p.Bounds.Min), most)
	if o.retriesSet {
		p.MaxRexmits, p.R2 = rexmitBound(o.maxRetries)
	}
	if p.RACK && o.recovery&tcpip.TCPRACKLossDetection == 0 {
		p.RACK, p.TLP = false, false
	}
}

// share returns a shared configuration equal to c.
func (p *protocol) share(c tcp.Config) *tcp.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.configs {
		if *have == c {
			return have
		}
	}
	kept := c // only a new configuration escapes to the heap
	if err := kept.Check(); err != nil {
		panic("BUG: " + err.Error())
	}
	const most = 8
	if len(p.configs) == most {
		p.configs = slices.Delete(p.configs, 0, 1)
	}
	p.configs = append(p.configs, &kept)
	return &kept
}

// rexmitBound returns the policy fields that make a connection give up after n retransmissions.
func rexmitBound(n uint32) (rexmits int, r2 time.Duration) {
	if n == 0 {
		return 0, time.Nanosecond // give up at the first timeout
	}
	return int(min(n, 254)), 0 // the engine counts no further
}

// synRetries returns how often a policy retransmits a SYN, apart from its linear timeouts.
func synRetries(p *tcptimers.Policy) (n uint8) {
	est := p.NewEstimator()
	for at := est.RTO(); n < math.MaxUint8 && at < p.SynR2; at += est.RTO() {
		est.Backoff()
		n++
	}
	return n
}

// synR2 returns how long a SYN is retransmitted at most n times: after 1 s, 2 s, 4 s … up to b.Max.
// As in Linux, the policy's linear timeouts come on top.
func synR2(n uint8, b tcptimers.Bounds) (d time.Duration) {
	rto := min(max(b.Initial, b.Min), b.Max)
	for range int(n) + 1 {
		d += rto
		rto = min(2*rto, b.Max)
	}
	return d
}
