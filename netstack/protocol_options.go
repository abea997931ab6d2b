package netstack

import (
	"slices"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// protocolOptions are the options of the protocol, which gVisor's TCP has too, with its defaults where the configuration has none.
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
	timeWaitSet    bool // it was chosen: else it is the policy's
	timeWaitReuse  tcpip.TCPTimeWaitReuseOption
	minRTO, maxRTO time.Duration
	maxRetries     uint32
	retriesSet     bool // it was chosen: else the policy tells when to give up
	synRetries     uint8
	synSet         bool // the same for a SYN
	alwaysCookies  bool
}

// controls are the names of the congestion controls. The one that gVisor calls reno has NewReno's recovery, and is the engine's newreno.
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
		synRetries:    gtcp.DefaultSynRetries,
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
		min := time.Duration(*v)
		if min < 0 {
			min = p.conn.Policy.Bounds.Min
		}
		if min > o.maxRTO {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.minRTO = min
	case *tcpip.TCPMaxRTOOption:
		max := time.Duration(*v)
		if max < 0 {
			max = p.conn.Policy.Bounds.Max
		}
		if max < o.minRTO {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.maxRTO = max
	case *tcpip.TCPMaxRetriesOption:
		o.maxRetries, o.retriesSet = uint32(*v), true
	case *tcpip.TCPAlwaysUseSynCookies:
		o.alwaysCookies = bool(*v)
	case *tcpip.TCPSynRetriesOption:
		if *v < 1 {
			return &tcpip.ErrInvalidOptionValue{}
		}
		o.synRetries, o.synSet = uint8(*v), true
	default:
		return &tcpip.ErrUnknownProtocolOption{}
	}
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

// config returns the configuration for connections of an endpoint. Those that are alike share one.
func (p *protocol) config(e *endpointOptions, fixedRecv bool, socket tcp.SocketOptions, recvBuffer uint32) *tcp.Config {
	return p.share(p.makeConfig(e, fixedRecv, socket, recvBuffer))
}

// makeConfig makes the configuration that follows from the options of the stack and of an endpoint, whose buffer grows unless it is fixed. What an option may be and the engine does
// not take is brought within its bounds.
func (p *protocol) makeConfig(e *endpointOptions, fixedRecv bool, socket tcp.SocketOptions, recvBuffer uint32) (c tcp.Config) {
	o := p.options()
	c = p.conn
	c.Control = engineControl(e.control)
	c.SACK = o.sack
	if own := e.own; own != nil {
		c.Policy, c.ECN, c.Pacing, c.VegasCheck = own.Policy, own.ECN, own.Pacing, own.VegasCheck
	} else {
		o.bound(&c.Policy)
	}
	if o.timeWaitSet {
		c.Policy.MSL = min(max(o.timeWait/2, time.Nanosecond), 2*time.Minute) // RFC 9293 §3.4.2
	}
	if e.synSet {
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

// bound has a policy follow the options of the stack.
func (o *protocolOptions) bound(p *tcptimers.Policy) {
	const least, most = time.Nanosecond, 24 * time.Hour // the bounds of tcptimers.Bounds
	p.Bounds.Min = min(max(o.minRTO, least), most)
	p.Bounds.Max = min(max(o.maxRTO, p.Bounds.Min), most)
	if o.retriesSet {
		p.MaxRexmits, p.R2 = rexmitBound(o.maxRetries)
	}
	p.RACK = p.RACK && o.recovery&tcpip.TCPRACKLossDetection != 0
	p.TLP = p.TLP && p.RACK
}

// share returns a configuration that is like c, and that others may have already.
func (p *protocol) share(c tcp.Config) *tcp.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, have := range p.configs {
		if *have == c {
			return have
		}
	}
	kept := c // so that only what is new takes memory
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

// rexmitBound returns what makes a policy give up after n retransmissions of a segment.
func rexmitBound(n uint32) (rexmits int, r2 time.Duration) {
	if n == 0 {
		return 0, time.Nanosecond // at the first timeout
	}
	return int(min(n, 254)), 0 // the engine counts no further
}

// synR2 returns how long a SYN is sent again at most n times under the bounds: after 1 s, 2 s, 4 s … up to the ceiling. As in Linux, the
// policy's linear timeouts come on top of them.
func synR2(n uint8, b tcptimers.Bounds) (d time.Duration) {
	rto := min(max(b.Initial, b.Min), b.Max)
	for range int(n) + 1 {
		d += rto
		rto = min(2*rto, b.Max)
	}
	return d
}
