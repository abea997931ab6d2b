package up

import (
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// recoveryLog remembers how long recoveries took. Multiple goroutines may invoke its methods.
type recoveryLog struct {
	mu   sync.Mutex
	took stat.Sample[time.Duration]
	most time.Duration
}

// maxRecoveries bounds the memory of a recoveryLog to 512 KiB.
const maxRecoveries = 1 << 16

func (l *recoveryLog) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took.Add(took, maxRecoveries)
	l.most = max(l.most, took)
}

// sum returns the number of recoveries, the median time, and the longest time.
func (l *recoveryLog) sum() (count int, median, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.took.Seen() == 0 {
		return 0, 0, 0
	}
	return l.took.Seen(), time.Duration(stat.Median(l.took.Kept())), l.most
}

// recoveryTap times the recoveries of a stack without an observer.
type recoveryTap struct {
	now   func() wheel.Time
	flows flows
	log   *recoveryLog
}

// add implements linkTap.
func (t *recoveryTap) add(pkt *stack.PacketBuffer, d pcapng.Direction) {
	s, ok := parseSegment(pkt, d)
	if !ok {
		return
	}
	if d == pcapng.Outbound {
		t.flows.sending(t.now(), &s)
		return
	}
	for _, r := range t.flows.acknowledged(t.now(), &s) {
		t.log.add(r.took)
	}
}
