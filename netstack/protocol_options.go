package netstack

import (
	"slices"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
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
		o.timeWait = max(time.Duration(*v), 0)
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
func (p *protocol) config(e *endpointOptions, socket tcp.SocketOptions, recvBuffer uint32) *tcp.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &p.opts
	c := p.conn
	c.Control = engineControl(e.control)
	c.SACK = o.sack
	pol := &c.Policy
	pol.Bounds.Min, pol.Bounds.Max = o.minRTO, o.maxRTO
	if o.retriesSet {
		pol.MaxRexmits, pol.R2 = rexmitBound(o.maxRetries)
	}
	pol.RACK = pol.RACK && o.recovery&tcpip.TCPRACKLossDetection != 0
	pol.TLP = pol.TLP && pol.RACK
	pol.MSL = max(o.timeWait/2, time.Nanosecond)
	if e.synSet {
		pol.SynR2 = synR2(e.synRetries)
	}
	c.Socket = socket
	c.RecvBuffer, c.RecvBufferMax = recvBuffer, 0
	if o.moderate && !e.fixedRecv {
		c.RecvBufferMax = uint32(min(o.recv.Max, 65535<<14))
	}
	for _, have := range p.configs {
		if *have == c {
			return have
		}
	}
	if c.Check() != nil {
		// An option went beyond what the engine takes: the rest of them stands.
		c.Policy = p.conn.Policy
		if c.Check() != nil {
			c = p.conn
		}
	}
	const most = 8
	if len(p.configs) == most {
		p.configs = slices.Delete(p.configs, 0, 1)
	}
	p.configs = append(p.configs, &c)
	return &c
}

// rexmitBound returns what makes a policy give up after n retransmissions of a segment.
func rexmitBound(n uint32) (rexmits int, r2 time.Duration) {
	if n == 0 {
		return 0, time.Nanosecond // at the first timeout
	}
	return int(min(n, 254)), 0 // the engine counts no further
}

// synR2 returns how long a SYN is sent again at most n times: 1 s, 2 s, 4 s … after the one before.
func synR2(n uint8) time.Duration {
	return min(time.Second<<(min(n, 30)+1)-time.Second, time.Hour)
}
