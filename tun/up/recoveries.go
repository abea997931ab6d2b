package up

import (
	"sync"
	"time"

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
