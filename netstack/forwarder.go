package netstack

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack/tcp"
)

// Forwarder lets a program decide what becomes of connections to addresses and ports that nobody listens to: nothing, a RST, or an
// endpoint. It has the methods of gVisor's, and is used in the same way: HandlePacket is given to stack.SetTransportProtocolHandler.
//
// Requests to one destination can be limited, so that those whose handler waits for a destination that does not answer leave room for
// the others: SetDestinationLimit.
type Forwarder struct {
	p       *protocol
	rcvWnd  int
	handler func(*ForwarderRequest)

	mu             sync.Mutex
	maxInFlight    int
	perDestination int // 0 is no limit
	inFlight       map[stack.TransportEndpointID]struct{}
	destinations   map[destination]int // of inFlight
}

// destination is where a connection is to lead.
type destination struct {
	addr tcpip.Address
	port uint16
}

// NewForwarder makes a forwarder for connections with a receive buffer of rcvWnd octets, of gVisor's default size if that is 0. While
// maxInFlight requests are not completed, SYNs of others are ignored. The handler runs in a goroutine of its own for each request, and must
// complete it.
//
// It panics if the stack's TCP is not this one.
func NewForwarder(s *stack.Stack, rcvWnd, maxInFlight int, handler func(*ForwarderRequest)) *Forwarder {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		panic("BUG: netstack: a Forwarder for a stack whose TCP was not made by netstack.NewProtocol")
	}
	if rcvWnd == 0 {
		rcvWnd = gtcp.DefaultReceiveBufferSize
	}
	return &Forwarder{
		p: p, rcvWnd: rcvWnd, handler: handler, maxInFlight: maxInFlight,
		inFlight: make(map[stack.TransportEndpointID]struct{}), destinations: make(map[destination]int),
	}
}

// SetDestinationLimit limits the requests in flight to each address and port; 0 is no limit.
func (f *Forwarder) SetDestinationLimit(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.perDestination = n
}

// HandlePacket takes a SYN, and returns true; other segments it leaves to the stack.
func (f *Forwarder) HandlePacket(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
	seg := segment{at: f.p.now()}
	if seg.parse(pkt) != faultless || seg.header.Flags&(tcp.SYN|tcp.ACK|tcp.RST) != tcp.SYN {
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
	case again: // the SYN is sent again while the handler thinks
	case full:
		f.p.stats.ForwardMaxInFlightDrop.Increment()
	default:
		r := &ForwarderRequest{f: f, id: id, seg: seg, pkt: pkt.IncRef()}
		go f.handler(r)
	}
	return true
}

// done forgets a request.
func (f *Forwarder) done(id stack.TransportEndpointID) {
	to := destination{id.LocalAddress, id.LocalPort}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inFlight, id)
	if f.destinations[to]--; f.destinations[to] == 0 {
		delete(f.destinations, to)
	}
}

// ForwarderRequest is a SYN that waits for what the program decides. Complete must be called, once; multiple goroutines may invoke its
// methods.
type ForwarderRequest struct {
	f  *Forwarder
	id stack.TransportEndpointID

	mu  sync.Mutex
	seg segment
	pkt *stack.PacketBuffer // nil when the request is completed
}

// ID returns the ends of the connection: local is where it is to lead, remote where it comes from.
func (r *ForwarderRequest) ID() stack.TransportEndpointID { return r.id }

// Complete ends the request, with a RST to the sender if sendReset. It panics at the second call.
func (r *ForwarderRequest) Complete(sendReset bool) {
	r.mu.Lock()
	pkt := r.pkt
	r.pkt = nil
	r.mu.Unlock()
	if pkt == nil {
		panic("BUG: netstack: a forwarder request is completed twice")
	}
	r.f.done(r.id)
	if sendReset {
		r.f.p.refuse(r.id, &r.seg, pkt)
	}
	pkt.DecRef()
}

// CreateEndpoint makes the endpoint of the connection, and waits for the end of the handshake. Options that are set on the endpoint
// hold from then on.
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
		e.fixedRecv = r.f.rcvWnd != gtcp.DefaultReceiveBufferSize
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
