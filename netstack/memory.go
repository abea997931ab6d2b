package netstack

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// A stack bounds the memory of all its buffers, as Linux does with tcp_mem. Above two thirds of the
// bound there is pressure: no send buffer grows, and none takes more than the peer lets it send
// soon. Above the bound a connection may hold freeMemory bytes and no more, and the connection that
// has made no progress longest is closed.

const (
	// memoryPage is the unit of the counts. The first incomplete page of a connection is not counted.
	memoryPage = 4 << 10
	// freeMemory is how much each connection may hold without regard to the bound.
	freeMemory = memoryPage
	// slackPages is by how many pages a count may be too high while a connection holds data, so that not
	// each step changes the stack's sum.
	slackPages = 16
	// stalledAfter is how long a connection makes no progress before it may be closed for its memory.
	stalledAfter = 5 * time.Second
	// scanInterval is the least time between two searches for stalled connections.
	scanInterval = 100 * time.Millisecond
	// leastBuffers is the least bound.
	leastBuffers = 1 << 20
)

// bufferMemory is the memory of all buffers of a stack.
type bufferMemory struct {
	limit int64 // bytes; 0 is no bound
	used  atomic.Int64
	scan  atomic.Int64 // not before this time: see reclaim

	pressures, refused, aborted atomic.Uint64
}

// memoryLevel says how scarce memory is.
type memoryLevel uint8

const (
	memoryPlenty memoryLevel = iota
	memoryPressure
	memoryFull
)

func (m *bufferMemory) levelAt(used int64) memoryLevel {
	switch {
	case m.limit == 0 || used <= m.limit/3*2:
		return memoryPlenty
	case used <= m.limit:
		return memoryPressure
	}
	return memoryFull
}

func (m *bufferMemory) level() memoryLevel { return m.levelAt(m.used.Load()) }

// share is a connection's share of the memory.
type share struct {
	pages    uint32 // counted
	progress uint32 // when the connection last made progress, in milliseconds of the stack's clock
}

// readMemory returns the bytes that received data takes, which can be twice as many as it has: see
// recv_join.go.
func (r *reading) readMemory() int { return int(r.rcvUsed) + r.rcv.held }

// charge counts the memory of the connection. The caller holds the lock.
func (e *Endpoint) charge() {
	pages := uint32((e.snd.memory() + e.readMemory()) / memoryPage)
	if pages == e.share.pages || pages < e.share.pages && pages > 0 && e.share.pages-pages <= slackPages {
		return
	}
	m := &e.p.memory
	change := (int64(pages) - int64(e.share.pages)) * memoryPage
	e.share.pages = pages
	if after := m.used.Add(change); change > 0 && m.levelAt(after) != memoryPlenty && m.levelAt(after-change) == memoryPlenty {
		m.pressures.Add(1)
	}
}

// noteProgress notes whether the larger queue of the connection has moved since the state before.
// Without much data there is nothing to move.
func (st *step) noteProgress(now wheel.Time, acked uint64, consumed bool) {
	e := st.e
	send, receive := e.snd.memory(), e.readMemory()
	if e.share.pages == 0 || send > receive && e.snd.start != acked || send <= receive && consumed {
		e.share.progress = milliseconds(now)
	}
}

func milliseconds(t wheel.Time) uint32 { return uint32(int64(t) / int64(time.Millisecond)) }

// sendBuffer returns the size of the send buffer, and how much of it is used. If memory is scarce,
// it is what the peer lets the connection send in two round trips, and overheads count, too.
func (e *Endpoint) sendBuffer() (size, used int) {
	size = int(e.ops.GetSendBufferSize())
	switch e.p.memory.level() {
	case memoryPressure:
		i := e.conn.Info(e.now)
		return min(size, max(freeMemory, 2*int(min(i.Cwnd, i.SndWnd)))), e.snd.memory()
	case memoryFull:
		return min(size, freeMemory), e.snd.memory()
	}
	return size, e.snd.size()
}

// refuses drops the payload of a segment if there is no memory for it: the peer retransmits it. The
// acknowledgment is taken.
func (st *step) refuses(seg *segment) {
	m := &st.e.p.memory
	if seg.len == 0 || m.level() != memoryFull {
		return
	}
	if st.e.readMemory() < freeMemory {
		return
	}
	m.refused.Add(1)
	seg.len, seg.header.Flags = 0, seg.header.Flags&^(tcp.FIN|tcp.PSH)
}

// reclaim closes the connections that have made no progress longest, until the bound is kept. The
// caller holds no lock.
func (p *protocol) reclaim() {
	m, now := &p.memory, p.now()
	next := m.scan.Load()
	if int64(now) < next || !m.scan.CompareAndSwap(next, math.MaxInt64) {
		return
	}
	type candidate struct {
		e   *Endpoint
		age int32
	}
	var stalled []candidate
	for _, t := range p.stack.RegisteredEndpoints() {
		e, ok := t.(*Endpoint)
		if !ok {
			continue
		}
		e.mu.Lock()
		age := int32(milliseconds(now) - e.share.progress)
		if e.phase == phaseConn && e.share.pages > 0 && age >= int32(stalledAfter/time.Millisecond) {
			stalled = append(stalled, candidate{e, age})
		}
		e.mu.Unlock()
	}
	slices.SortStableFunc(stalled, func(a, b candidate) int { return cmp.Compare(b.age, a.age) })
	for _, c := range stalled {
		if m.level() != memoryFull {
			break
		}
		m.aborted.Add(1)
		endForMemory(c.e)
	}
	// A search takes at most a twentieth of the time.
	after := p.now()
	m.scan.Store(int64(after.Add(max(scanInterval, 20*after.Sub(now)))))
}

// endForMemory resets the connection and drops its data. The application's next call fails.
func endForMemory(e *Endpoint) {
	e.mu.Lock()
	e.hardErr = &tcpip.ErrNoBufferSpace{}
	e.calls.abort = true
	e.mu.Unlock()
	e.kick()
	e.mu.Lock()
	e.dropUnread()
	e.mu.Unlock()
}

// BufferUse is the memory of all buffers of a stack's connections, in bytes.
type BufferUse struct {
	Used      int64  `json:"used"`
	Limit     int64  `json:"limit"`     // 0 is none
	Pressures uint64 `json:"pressures"` // times that two thirds of the limit were exceeded
	Refused   uint64 `json:"refused"`   // segments whose data was dropped above the limit
	Aborted   uint64 `json:"aborted"`   // connections closed above the limit
}

// Buffers returns the memory of the buffers of a stack. ok is false if the stack's TCP is not this
// package's.
func Buffers(s *stack.Stack) (u BufferUse, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return u, false
	}
	m := &p.memory
	return BufferUse{m.used.Load(), m.limit, m.pressures.Load(), m.refused.Load(), m.aborted.Load()}, true
}

// defaultBuffers returns 3/32 of the memory that this process may use, as in Linux.
func defaultBuffers() int64 {
	most := int64(4 << 30) // where the system does not say
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := bytes.Fields(text); len(f) > 1 {
			if kb, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				most = kb << 10
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil {
				most = min(most, n)
			}
		}
	}
	return max(min(most, debug.SetMemoryLimit(-1))/32*3, leastBuffers)
}
