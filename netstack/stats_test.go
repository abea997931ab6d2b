package netstack

import (
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
)

// TestSpuriousRecoveriesCountOnce: each undone recovery counts once as gVisor's SpuriousRecovery;
// that of a timeout also counts once as SpuriousRTORecovery.
func TestSpuriousRecoveriesCountOnce(t *testing.T) {
	for _, test := range []struct {
		name           string
		counters       tcp.LossCounters
		all, ofTimeout uint64
	}{
		{"Eifel, fast recovery", tcp.LossCounters{TCPFullUndo: 1}, 1, 0},
		{"Eifel, a partial ACK", tcp.LossCounters{TCPPartialUndo: 1}, 1, 0},
		{"DSACK, fast recovery", tcp.LossCounters{TCPFullUndo: 1, TCPDSACKUndo: 1}, 1, 0},
		{"Eifel, timeout", tcp.LossCounters{TCPLossUndo: 1}, 1, 1},
		{"DSACK, timeout", tcp.LossCounters{TCPLossUndo: 1, TCPDSACKUndo: 1}, 1, 1},
		{"F-RTO", tcp.LossCounters{TCPLossUndo: 1, TCPSpuriousRTOs: 1}, 1, 1},
	} {
		p := &protocol{stats: tcpip.Stats{}.FillIn().TCP}
		pass := &scratch{}
		pass.out.Counters.LossCounters = test.counters
		for range 2 { // the second time adds nothing
			p.addCounters(pass, &Endpoint{})
		}
		if all, ofTimeout := p.stats.SpuriousRecovery.Value(), p.stats.SpuriousRTORecovery.Value(); all != test.all || ofTimeout != test.ofTimeout {
			t.Errorf("%s: %d spurious recoveries, %d of timeouts, want %d and %d", test.name, all, ofTimeout, test.all, test.ofTimeout)
		}
	}
}
