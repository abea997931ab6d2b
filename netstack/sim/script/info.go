package script

import (
	"math"
	"time"

	"tcpwheel/netstack/tcp"
)

// constantsOfCode are the constants of code, with Linux's values.
var constantsOfCode = map[string]int64{
	"True": 1, "False": 0,
	"TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4,
	"TCPI_OPT_TIMESTAMPS": 1, "TCPI_OPT_SACK": 2, "TCPI_OPT_WSCALE": 4, "TCPI_OPT_ECN": 8,
	"TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6,
	"TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
	"TCP_INFINITE_SSTHRESH": 0x7fffffff,
}

// states are Linux's numbers of connection states.
var states = map[tcp.State]int64{
	tcp.StateClosed: 7, tcp.StateListen: 10, tcp.StateSynSent: 2, tcp.StateSynReceived: 3, tcp.StateEstablished: 1,
	tcp.StateFinWait1: 4, tcp.StateFinWait2: 5, tcp.StateCloseWait: 8, tcp.StateClosing: 11, tcp.StateLastAck: 9,
	tcp.StateTimeWait: 6,
}

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

// ssthresh returns n, or Linux's TCP_INFINITE_SSTHRESH before any congestion.
func ssthresh(i *tcp.Info, n uint32) int64 {
	if i.Ssthresh == math.MaxUint32 {
		return 0x7fffffff
	}
	return int64(n)
}

// infoFields are the fields of Linux's struct tcp_info in its units, and some of our own.
var infoFields = map[string]func(*tcp.Info) int64{
	"tcpi_state":       func(i *tcp.Info) int64 { return states[i.State] },
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

	"tcpi_delivery_rate":             func(i *tcp.Info) int64 { return int64(i.DeliveryRate / 8) },
	"tcpi_delivery_rate_app_limited": func(i *tcp.Info) int64 { return truth(i.DeliveryRateAppLimited) },
	"tcpi_busy_time":                 usecs(func(i *tcp.Info) time.Duration { return i.BusyTime }),
	"tcpi_rwnd_limited":              usecs(func(i *tcp.Info) time.Duration { return i.RwndLimited }),
	"tcpi_sndbuf_limited":            usecs(func(i *tcp.Info) time.Duration { return i.SndbufLimited }),

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
