package script

import (
	"math"
	"time"

	"tcpwheel/netstack/tcp"
)

// constantsOfAsserts are the names of numbers, as Linux has them. The numbers of states are ours.
var constantsOfAsserts = map[string]int64{
	"TCP_CA_Open": int64(tcp.CAOpen), "TCP_CA_Disorder": int64(tcp.CADisorder), "TCP_CA_CWR": int64(tcp.CACWR),
	"TCP_CA_Recovery": int64(tcp.CARecovery), "TCP_CA_Loss": int64(tcp.CALoss),
	"TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8,
	"TCP_ESTABLISHED": int64(tcp.StateEstablished), "TCP_SYN_SENT": int64(tcp.StateSynSent), "TCP_SYN_RECV": int64(tcp.StateSynReceived),
	"TCP_FIN_WAIT1": int64(tcp.StateFinWait1), "TCP_FIN_WAIT2": int64(tcp.StateFinWait2), "TCP_TIME_WAIT": int64(tcp.StateTimeWait),
	"TCP_CLOSE": int64(tcp.StateClosed), "TCP_CLOSE_WAIT": int64(tcp.StateCloseWait), "TCP_LAST_ACK": int64(tcp.StateLastAck),
	"TCP_CLOSING": int64(tcp.StateClosing), "TCP_INFINITE_SSTHRESH": infiniteSsthresh,
}

// infiniteSsthresh is Linux's threshold of slow start before any congestion.
const infiniteSsthresh = 0x7fffffff

// number64 reads a number or a time (in µs) of tcp.Info.
func number64[T ~int | ~uint8 | ~uint32 | ~uint64](get func(*tcp.Info) T) func(*tcp.Info) int64 {
	return func(i *tcp.Info) int64 { return int64(get(i)) }
}

func usecs(get func(*tcp.Info) time.Duration) func(*tcp.Info) int64 {
	return func(i *tcp.Info) int64 { return int64(get(i) / time.Microsecond) }
}

func nsecs(get func(*tcp.Info) time.Duration) func(*tcp.Info) int64 {
	return func(i *tcp.Info) int64 { return int64(get(i)) }
}

// ssthresh returns n, or infiniteSsthresh before any congestion.
func ssthresh(i *tcp.Info, n uint32) int64 {
	if i.Ssthresh == math.MaxUint32 {
		return infiniteSsthresh
	}
	return int64(n)
}

// infoFields are the fields of Linux's struct tcp_info in its units, and some of our own.
var infoFields = map[string]func(*tcp.Info) int64{
	"tcpi_state":       number64(func(i *tcp.Info) tcp.State { return i.State }),
	"tcpi_ca_state":    number64(func(i *tcp.Info) tcp.CAState { return i.CAState }),
	"tcpi_retransmits": number64(func(i *tcp.Info) int { return i.Retransmits }),
	"tcpi_probes":      number64(func(i *tcp.Info) int { return i.Probes }),
	"tcpi_backoff":     number64(func(i *tcp.Info) int { return i.Backoff }),
	"tcpi_options": func(i *tcp.Info) int64 {
		return truth(i.Timestamps) | truth(i.SACK)<<1 | truth(i.WScale)<<2 | truth(i.ECN)<<3
	},
	"tcpi_snd_wscale": number64(func(i *tcp.Info) uint8 { return i.SndWScale }),
	"tcpi_rcv_wscale": number64(func(i *tcp.Info) uint8 { return i.RcvWScale }),

	"tcpi_rto":     usecs(func(i *tcp.Info) time.Duration { return i.RTO }),
	"tcpi_ato":     usecs(func(i *tcp.Info) time.Duration { return i.ATO }),
	"tcpi_rtt":     usecs(func(i *tcp.Info) time.Duration { return i.SRTT }),
	"tcpi_rttvar":  usecs(func(i *tcp.Info) time.Duration { return i.RTTVar }),
	"tcpi_min_rtt": usecs(func(i *tcp.Info) time.Duration { return i.MinRTT }),
	"tcpi_rcv_rtt": usecs(func(i *tcp.Info) time.Duration { return i.RcvRTT }),

	"tcpi_snd_mss": number64(func(i *tcp.Info) uint32 { return i.SndMSS }),
	"tcpi_rcv_mss": number64(func(i *tcp.Info) uint32 { return i.RcvMSS }),
	"tcpi_advmss":  number64(func(i *tcp.Info) uint32 { return i.AdvMSS }),
	"tcpi_pmtu":    number64(func(i *tcp.Info) uint32 { return i.PMTU }),

	"tcpi_unacked":       number64(func(i *tcp.Info) uint32 { return i.Unacked }),
	"tcpi_sacked":        number64(func(i *tcp.Info) uint32 { return i.Sacked }),
	"tcpi_lost":          number64(func(i *tcp.Info) uint32 { return i.Lost }),
	"tcpi_retrans":       number64(func(i *tcp.Info) uint32 { return i.Retrans }),
	"tcpi_total_retrans": number64(func(i *tcp.Info) uint64 { return i.TotalRetrans }),
	"tcpi_snd_cwnd":      number64(func(i *tcp.Info) uint32 { return i.CwndSegs }),
	"tcpi_snd_ssthresh":  func(i *tcp.Info) int64 { return ssthresh(i, i.SsthreshSegs) },
	"tcpi_reord_seen":    number64(func(i *tcp.Info) uint32 { return i.ReorderingSeen }),
	"tcpi_reordering":    number64(func(i *tcp.Info) uint32 { return i.Reordering }),

	"tcpi_delivery_rate":  func(i *tcp.Info) int64 { return int64(i.DeliveryRate / 8) },
	"tcpi_busy_time":      usecs(func(i *tcp.Info) time.Duration { return i.BusyTime }),
	"tcpi_rwnd_limited":   usecs(func(i *tcp.Info) time.Duration { return i.RwndLimited }),
	"tcpi_sndbuf_limited": usecs(func(i *tcp.Info) time.Duration { return i.SndbufLimited }),

	"tcpi_delivered":      number64(func(i *tcp.Info) uint64 { return i.Delivered }),
	"tcpi_delivered_ce":   number64(func(i *tcp.Info) uint64 { return i.DeliveredCE }),
	"tcpi_segs_in":        number64(func(i *tcp.Info) uint64 { return i.SegsIn }),
	"tcpi_segs_out":       number64(func(i *tcp.Info) uint64 { return i.SegsOut }),
	"tcpi_data_segs_in":   number64(func(i *tcp.Info) uint64 { return i.DataSegsIn }),
	"tcpi_data_segs_out":  number64(func(i *tcp.Info) uint64 { return i.DataSegsOut }),
	"tcpi_bytes_sent":     number64(func(i *tcp.Info) uint64 { return i.BytesSent }),
	"tcpi_bytes_retrans":  number64(func(i *tcp.Info) uint64 { return i.BytesRetrans }),
	"tcpi_bytes_acked":    number64(func(i *tcp.Info) uint64 { return i.BytesAcked }),
	"tcpi_bytes_received": number64(func(i *tcp.Info) uint64 { return i.BytesReceived }),
	"tcpi_notsent_bytes":  number64(func(i *tcp.Info) uint64 { return i.NotSent }),
	"tcpi_dsack_dups":     number64(func(i *tcp.Info) uint64 { return i.DSACKDups }),
	"tcpi_snd_wnd":        number64(func(i *tcp.Info) uint32 { return i.SndWnd }),
	"tcpi_rcv_wnd":        number64(func(i *tcp.Info) uint32 { return i.RcvWnd }),
	"tcpi_rcv_space":      number64(func(i *tcp.Info) uint32 { return i.RcvSpace }),

	// Ours, not Linux's.
	"tcpi_cwnd_bytes":     number64(func(i *tcp.Info) uint32 { return i.Cwnd }),
	"tcpi_ssthresh_bytes": func(i *tcp.Info) int64 { return ssthresh(i, i.Ssthresh) },
	"tcpi_reo_wnd":        usecs(func(i *tcp.Info) time.Duration { return i.ReoWnd }),
	"tcpi_rto_nsecs":      nsecs(func(i *tcp.Info) time.Duration { return i.RTO }),
	"tcpi_rtt_nsecs":      nsecs(func(i *tcp.Info) time.Duration { return i.SRTT }),
	"tcpi_rttvar_nsecs":   nsecs(func(i *tcp.Info) time.Duration { return i.RTTVar }),
	"tcpi_snd_una":        number64(func(i *tcp.Info) uint32 { return uint32(i.SndUna) }),
	"tcpi_snd_nxt":        number64(func(i *tcp.Info) uint32 { return uint32(i.SndNxt) }),
	"tcpi_rcv_nxt":        number64(func(i *tcp.Info) uint32 { return uint32(i.RcvNxt) }),
	"tcpi_slow_start":     func(i *tcp.Info) int64 { return truth(i.Control.SlowStart) },
	"tcpi_conservative":   func(i *tcp.Info) int64 { return truth(i.Control.Conservative) },
	"tcpi_pipe_ack":       number64(func(i *tcp.Info) uint32 { return i.Control.PipeACK }),
}
