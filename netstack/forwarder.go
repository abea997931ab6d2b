package netstack

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Forwarder lets a program decide about connections to addresses and ports without a listener: it
// may ignore them, reset them or accept them. It has the shape of gVisor's tcp.Forwarder and is
// used in the same way: pass HandlePacket to stack.SetTransportProtocolHandler.
//
// gVisor's own tcp.NewForwarder panics on a stack whose TCP is this package's.
type Forwarder struct {
	p       *protocol
	rcvWnd  int
	handler func(*ForwarderRequest)

	mu             sync.Mutex
	maxInFlight    int
	perDestination int // 0 is no limit
	inFlight       map[stack.TransportEndpointID]struct{}
	destinations   map[destination]int // number of entries in inFlight
}

// destination is the address and port of a request.
type destination struct {
	addr tcpip.Address
	port uint16
}

// NewForwarder makes a forwarder. Its connections have a receive buffer of rcvWnd bytes; 0 is
// gVisor's default. While maxInFlight requests are not completed, new SYNs are ignored. Each
// request calls handler in a goroutine of its own; the handler must call Complete.
//
// It panics if the stack's TCP is not this package's.
func NewForwarder(s *stack.Stack, rcvWnd, maxInFlight int, handler func(*ForwarderRequest)) *Forwarder {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		panic("BUG: netstack: NewForwarder on a stack whose TCP is not netstack's: put netstack.NewProtocol into stack.Options")
	}
	if rcvWnd == 0 {
		rcvWnd = gtcp.DefaultReceiveBufferSize
	}
	return &Forwarder{
		p: p, rcvWnd: rcvWnd, handler: handler, maxInFlight: maxInFlight,
		inFlight: make(map[stack.TransportEndpointID]struct{}), destinations: make(map[destination]int),
	}
}

// SetDestinationLimit limits the requests in flight to each address and port; 0 is no limit. So
// requests to a destination that does not answer leave room for others.
func (f *Forwarder) SetDestinationLimit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.perDestination = n
}

// HandlePacket takes SYNs and returns true for them. It leaves all other segments to the stack.
func (f *Forwarder) HandlePacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
	seg := segment{arrived: f.p.now()}
	if seg.parse(pkt) != noFault || !seg.isSYN() || f.p.timeWaits.has(&id) {
		return false
	}
	to := destination{id.LocalAddress, id.LocalPort}
	f.mu.Lock()
	_, again := f.inFlight[id]
	full := len(f.inFlight) >= f.maxInFlight || f.perDestination > 0 && f.destinations[to] >= f.perDestination
	if !again && !full {
		f.inFlight[id] = struct{}{}
		f.destinations[to]++
	}
	f.mu.Unlock()
	switch {
	case again: // a retransmission while the handler decides
	case full:
		f.p.stats.ForwardMaxInFlightDrop.Increment()
	default:
		r := &ForwarderRequest{f: f, id: id, seg: seg, pkt: pkt.IncRef()}
		go f.handler(r)
	}
	return true
}

// done removes a request.
func (f *Forwarder) done(id stack.TransportEndpointID) {
	to := destination{id.LocalAddress, id.LocalPort}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inFlight, id)
	if f.destinations[to]--; f.destinations[to] == 0 {
		delete(f.destinations, to)
	}
}

// ForwarderRequest is a SYN that waits for the program's decision. Complete must be called exactly
// once. Multiple goroutines may invoke its methods.
type ForwarderRequest struct {
	f  *Forwarder
	id stack.TransportEndpointID

	mu  sync.Mutex
	seg segment
	pkt *stack.PacketBuffer // nil once completed
}

// ID returns the addresses and ports of the connection. Local is the destination, remote the
// origin.
func (r *ForwarderRequest) ID() stack.TransportEndpointID { return r.id }

// Complete ends the request, with a RST to the sender if sendReset is true. A second call panics.
func (r *ForwarderRequest) Complete(sendReset bool) {
	r.mu.Lock()
	pkt := r.pkt
	r.pkt = nil
	r.mu.Unlock()
	if pkt == nil {
		panic("BUG: netstack: Complete called twice on a forwarder request")
	}
	r.f.done(r.id)
	if sendReset {
		r.f.p.resetStray(pkt.NICID, pkt.NetworkProtocolNumber, r.id, &r.seg)
	}
	pkt.DecRef()
}

// CreateEndpoint makes the endpoint of the connection and waits until the handshake ends. Options
// set on the endpoint take effect after that.
func (r *ForwarderRequest) CreateEndpoint(wq *waiter.Queue) (tcpip.Endpoint, tcpip.Error) {
	r.mu.Lock()
	if r.pkt == nil {
		r.mu.Unlock()
		return nil, &tcpip.ErrInvalidEndpointState{}
	}
	pkt := r.pkt.IncRef()
	r.mu.Unlock()
	defer pkt.DecRef()

	entry, changed := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventHUp)
	wq.EventRegister(&entry)
	defer wq.EventUnregister(&entry)
	e, err := r.f.p.openPassive(wq, r.id, &r.seg, pkt, func(e *Endpoint) {
		e.recvBufferFixed = r.f.rcvWnd != gtcp.DefaultReceiveBufferSize
		e.ops.SetReceiveBufferSize(int64(r.f.rcvWnd), false)
	})
	if err != nil {
		return nil, err
	}
	e.deliver(&r.seg)
	for {
		e.mu.Lock()
		waits := e.connecting()
		err := e.hardErr
		if e.phase == phaseError || e.phase == phaseClosed {
			e.hardErr = nil
			if err == nil {
				err = &tcpip.ErrConnectionAborted{}
			}
		}
		e.mu.Unlock()
		switch {
		case waits:
			<-changed
		case err != nil:
			e.Close()
			return nil, err
		default:
			return e, nil
		}
	}
}

// ForwardedPacketExperimentOption returns the experiment option of the SYN, and whether it has one.
func (r *ForwarderRequest) ForwardedPacketExperimentOption() (uint16, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pkt == nil {
		return 0, false
	}
	return r.pkt.ExperimentOptionValue()
}
