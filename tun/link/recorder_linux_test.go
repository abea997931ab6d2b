package link

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// TestCaptureWaitsForSenders: a capture is in the order of its stamps, however long a sender takes
// from reading the clock to recording its packet.
func TestCaptureWaitsForSenders(t *testing.T) {
	clock, err := wheel.Start(wheel.RealtimeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	name := filepath.Join(t.TempDir(), "a")
	r, err := newRecorder(&Config{Captures: [2]string{name}}, clock, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var asked, sending atomic.Int64
	sending.Store(1)
	r.upToDate = func() bool { asked.Add(1); return sending.Load() == 0 }
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(make([]byte, 20))})
	defer pkt.DecRef()
	early := clock.Now()
	r.Arrived(0, &tun.LinkPacket{Direction: tun.Back, Number: 1, Fate: sim.Fate{At: early}}, pkt)
	for asked.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	if got := readCapture(t, name); len(got) != 0 {
		t.Errorf("%d packets in the file while an earlier one may come, want none", len(got))
	}
	r.Sent(early, &tun.LinkPacket{Direction: tun.There, Number: 1}, pkt)
	sending.Store(0)
	for len(readCapture(t, name)) < 2 {
		time.Sleep(time.Millisecond)
	}
	if got := readCapture(t, name); got[0].inbound || !got[1].inbound || got[0].at >= got[1].at {
		t.Errorf("%+v, want the packet that was sent first", got)
	}
	if err := r.close([2]Summary{}); err != nil {
		t.Error(err)
	}
}
