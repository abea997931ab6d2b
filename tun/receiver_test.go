package tun

import (
	"bytes"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// tunRead fills r's buffers as readv does, and returns the number of bytes.
func tunRead(r *receiver, b []byte) int {
	n := 0
	for _, piece := range r.buffers() {
		n += copy(piece, b[n:])
	}
	return n
}

// tunSuper is a super-segment as a stack sends it: pushed headers, payload in several views.
func tunSuper(t *testing.T, v6 bool, n, piece int) (pkt *stack.PacketBuffer, b []byte) {
	t.Helper()
	b = tunTCP(t, v6, 0x18, tunPayload(n))
	h, err := parseHeaders(b, len(b))
	if err != nil {
		t.Fatal(err)
	}
	var payload buffer.Buffer
	for rest := b[h.len:]; len(rest) > 0; {
		k := min(piece, len(rest))
		payload.Append(buffer.NewViewWithData(rest[:k]))
		rest = rest[k:]
	}
	pkt = stack.NewPacketBuffer(stack.PacketBufferOptions{ReserveHeaderBytes: h.len + 30, Payload: payload})
	copy(pkt.TransportHeader().Push(h.len-h.ipLen), b[h.ipLen:])
	copy(pkt.NetworkHeader().Push(h.ipLen), b)
	pkt.NetworkProtocolNumber = h.net
	pkt.GSOOptions = stack.GSO{Type: stack.GSOTCPv4, NeedsCsum: true, CsumOffset: tcpChecksum, MSS: 1448, L3HdrLen: uint16(h.ipLen)}
	if v6 {
		pkt.GSOOptions.Type = stack.GSOTCPv6
	}
	return pkt, b
}

// TestSenderToReceiver converts packets from the form that is sent to the form that arrives.
func TestSenderToReceiver(t *testing.T) {
	var r receiver
	defer r.release()
	for _, test := range []struct {
		name     string
		v6       bool
		n, piece int
	}{
		{"no payload", false, 0, 1},
		{"within the first view", false, 5, 5},
		{"fills the first view", false, maxHeaders - 52, 1000},
		{"one more", false, maxHeaders - 52 + 1, 1000},
		{"a super-segment", false, 40000, 1448},
		{"more pieces than the kernel takes", false, 5000, 1},
		{"the largest", true, 65535 - 32, 30000},
	} {
		t.Run(test.name, func(t *testing.T) {
			pkt, want := tunSuper(t, test.v6, test.n, test.piece)
			defer pkt.DecRef()
			s := senders.Get().(*sender)
			defer senders.Put(s)
			iov, size, super := s.buffers(pkt)
			if len(iov) > maxPieces || size != len(want) || super != (test.n > 1448) {
				t.Fatalf("%d pieces of %d bytes, super-segment %v; want %d at most, %d", len(iov), size, super, maxPieces, len(want))
			}
			wire := bytes.Join(iov, nil)
			s.release()

			got, disposition := r.packet(tunRead(&r, wire))
			if disposition != delivered {
				t.Fatalf("disposition %d", disposition)
			}
			defer got.DecRef()
			if !bytes.Equal(tunOctets(got), want) {
				t.Error("other bytes arrived")
			}
			wantGSO := pkt.GSOOptions
			if !super {
				wantGSO.MSS = 0
			}
			if got.GSOOptions != wantGSO || got.NetworkProtocolNumber != pkt.NetworkProtocolNumber {
				t.Errorf("arrived with %+v, protocol %#x, want %+v, %#x",
					got.GSOOptions, got.NetworkProtocolNumber, wantGSO, pkt.NetworkProtocolNumber)
			}
			// The stack can read the headers without copying payload.
			if views := got.AsSlices(); len(views[0]) > maxHeaders {
				t.Errorf("the first view has %d bytes, want %d at most", len(views[0]), maxHeaders)
			}
		})
	}
}

// TestReceiverVerifies: the receiver verifies the packets that the kernel does not vouch for, such
// as those of another host, and no others.
func TestReceiverVerifies(t *testing.T) {
	partial := tunTCP(t, false, 0x10, tunPayload(3000)) // its checksum is not complete, so it is wrong
	whole := bytes.Clone(partial)
	h, err := parseHeaders(whole, len(whole))
	if err != nil {
		t.Fatal(err)
	}
	body := buffer.MakeWithData(whole)
	complete(whole[:h.len], &h, tcpChecksum, sumFrom(&body, h.len, len(whole)))
	body.Release()
	badIP := bytes.Clone(whole)
	header.IPv4(badIP).SetChecksum(1)
	var r receiver
	defer r.release()
	for _, test := range []struct {
		name string
		v    vnetHeader
		b    []byte
		want disposition
	}{
		{"right", vnetHeader{}, whole, delivered},
		{"wrong", vnetHeader{}, partial, badChecksum},
		{"wrong IPv4 header", vnetHeader{}, badIP, badChecksum},
		{"to be completed", vnetHeader{flags: vnetNeedsCsum, csumStart: 20, csumOffset: 16}, partial, delivered},
		{"vouched for", vnetHeader{flags: vnetDataValid}, partial, delivered},
		{"no packet", vnetHeader{}, nil, malformed},
		{"cut off", vnetHeader{}, whole[:100], malformed},
		{"version 5", vnetHeader{}, []byte{0x50}, malformed},
		{"impossible vnet header", vnetHeader{gsoType: 1, gsoSize: 0}, whole, malformed},
	} {
		var vnet [vnetSize]byte
		test.v.encode(&vnet)
		pkt, disposition := r.packet(tunRead(&r, append(vnet[:], test.b...)))
		if disposition != test.want {
			t.Errorf("%s: disposition %d, want %d", test.name, disposition, test.want)
		}
		if pkt != nil {
			pkt.DecRef()
		}
	}
}
