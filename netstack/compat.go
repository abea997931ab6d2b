package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// NewProtocolCUBIC is NewProtocol, whose congestion control is CUBIC. gVisor's tcp package has both
// names.
func NewProtocolCUBIC(s *stack.Stack) stack.TransportProtocol { return NewProtocol(s) }

// The types of gVisor's tcp package that programs name. Endpoints of this package return them.
type (
	// EndpointState is the type of Endpoint.State's values.
	EndpointState = gtcp.EndpointState
	// Stats is the type of Endpoint.Stats' values.
	Stats = gtcp.Stats
	// ReceiveErrors is a part of Stats.
	ReceiveErrors = gtcp.ReceiveErrors
	// SendErrors is a part of Stats.
	SendErrors = gtcp.SendErrors
)

// The states of an endpoint, in gVisor's numbers.
const (
	StateEstablished = gtcp.StateEstablished
	StateSynSent     = gtcp.StateSynSent
	StateSynRecv     = gtcp.StateSynRecv
	StateFinWait1    = gtcp.StateFinWait1
	StateFinWait2    = gtcp.StateFinWait2
	StateTimeWait    = gtcp.StateTimeWait
	StateClose       = gtcp.StateClose
	StateCloseWait   = gtcp.StateCloseWait
	StateLastAck     = gtcp.StateLastAck
	StateListen      = gtcp.StateListen
	StateClosing     = gtcp.StateClosing
	StateInitial     = gtcp.StateInitial
	StateBound       = gtcp.StateBound
	StateConnecting  = gtcp.StateConnecting
	StateError       = gtcp.StateError
)

// The default values and bounds of gVisor's options, which hold here too. MinRTO, MaxRTO,
// InitialRTO and MaxRetries are gVisor's: here Config.Conn.Policy decides, until an option is set.
const (
	MinBufferSize             = gtcp.MinBufferSize
	DefaultSendBufferSize     = gtcp.DefaultSendBufferSize
	DefaultReceiveBufferSize  = gtcp.DefaultReceiveBufferSize
	MaxBufferSize             = gtcp.MaxBufferSize
	SegOverheadFactor         = gtcp.SegOverheadFactor
	DefaultTCPLingerTimeout   = gtcp.DefaultTCPLingerTimeout
	MaxTCPLingerTimeout       = gtcp.MaxTCPLingerTimeout
	DefaultTCPTimeWaitTimeout = gtcp.DefaultTCPTimeWaitTimeout
	DefaultSynRetries         = gtcp.DefaultSynRetries
	DefaultKeepaliveIdle      = gtcp.DefaultKeepaliveIdle
	DefaultKeepaliveInterval  = gtcp.DefaultKeepaliveInterval
	DefaultKeepaliveCount     = gtcp.DefaultKeepaliveCount
	InitialRTO                = gtcp.InitialRTO
	MinRTO                    = gtcp.MinRTO
	MaxRTO                    = gtcp.MaxRTO
	MaxRetries                = gtcp.MaxRetries
	InitialCwnd               = gtcp.InitialCwnd
)

// GetTCPSendBufferLimits returns the stack's limits on send buffers.
func GetTCPSendBufferLimits(s tcpip.StackHandler) tcpip.SendBufferSizeOption {
	return gtcp.GetTCPSendBufferLimits(s)
}

// GetTCPReceiveBufferLimits returns the stack's limits on receive buffers.
func GetTCPReceiveBufferLimits(s tcpip.StackHandler) tcpip.ReceiveBufferSizeOption {
	return gtcp.GetTCPReceiveBufferLimits(s)
}

// EndpointState is State in gVisor's type.
func (e *Endpoint) EndpointState() EndpointState { return EndpointState(e.State()) }
