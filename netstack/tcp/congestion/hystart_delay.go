package congestion

import (
	"math"
	"time"

	"tcpwheel/wheel"
)

// Constants of HyStart in Linux's tcp_cubic.c.
const (
	linuxLowWindow = 16                   // hystart_low_window, segments
	linuxACKDelta  = 2 * time.Millisecond // hystart_ack_delta_us
	linuxGSO       = 1 << 16              // gso_max_size, bytes
)

// hystartLinux is HyStart of S. Ha and I. Rhee ("Taming the elephants", Computer Networks 55(9),
// 2011) as in Linux (hystart_update). It ends slow start at once if ACKs arrive back to back for
// half of the minimum RTT, or if the RTT of a round has grown. Unlike HyStart++ it also watches the
// slow start after a timeout.
type hystartLinux struct {
	roundStart, lastACK wheel.Time
	delayMin            time.Duration // delay_min, of the connection
	currRTT             time.Duration // curr_rtt, of this round
	end                 uint32        // end_seq
	samples             uint8
	limit               uint32 // Config.HyStartLimit
	paced, started      bool
}

// OnAck processes an ACK in slow start and reports whether slow start is over. cwnd is the window
// before the ACK.
func (h *hystartLinux) OnAck(now wheel.Time, a Ack, cwnd, mss uint32) (done bool) {
	if a.RTT <= 0 {
		return false
	}
	if h.delayMin == 0 || a.RTT < h.delayMin {
		h.delayMin = a.RTT
	}
	if !h.started || before(h.end, a.Una) {
		h.started, h.roundStart, h.lastACK, h.end = true, now, now, a.Nxt
		h.currRTT, h.samples = math.MaxInt64, 0
	}
	if uint64(cwnd) < linuxLowWindow*uint64(mss) {
		return false
	}
	if now.Sub(h.lastACK) <= linuxACKDelta {
		h.lastACK = now
		// hystart_ack_delay: the time of four super-segments at the pacing rate of slow start.
		train := h.delayMin + min(time.Millisecond, time.Duration(4*linuxGSO*(int64(min(a.SRTT, time.Hour))/(2*int64(cwnd)))))
		if !h.paced {
			train /= 2
		}
		if now.Sub(h.roundStart) > train {
			return true
		}
	}
	h.currRTT = min(h.currRTT, a.RTT)
	if h.samples < nRTTSample {
		h.samples++
		return false
	}
	return h.currRTT > h.delayMin+max(minRTTThresh, min(h.delayMin/minRTTDivisor, maxRTTThresh))
}

// OnTimeout starts over, except for the minimum RTT.
func (h *hystartLinux) OnTimeout() { *h = hystartLinux{paced: h.paced, limit: h.limit} }
