package script

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
)

// sysctl sets a variable of Linux. Variables of the whole engine may be set only before the first
// event.
func (p *plan) sysctl(name, value string, before bool) error {
	if engineSysctls[name] && !before {
		return fmt.Errorf("sysctl %s=%s: want it before the first event", name, value)
	}
	return setKnob(sysctls(), "sysctl ", name, value, p)
}

var engineSysctls = map[string]bool{
	"net.ipv4.tcp_syncookies": true, "net.ipv4.tcp_max_syn_backlog": true, "net.ipv4.tcp_max_tw_buckets": true,
	"net.ipv4.tcp_challenge_ack_limit": true, "net.ipv4.tcp_wmem": true,
}

// variable is a numeric sysctl of net.ipv4 with a bound.
func variable(name, about string, bound uint64, set func(*plan, uint64)) knob {
	return knob{Parameter{"net.ipv4." + name, fmt.Sprintf("0..%d", bound), about}, func(p *plan, v string) error {
		n, err := parseNumber(v, bound)
		if err == nil {
			set(p, n)
		}
		return err
	}}
}

// fixed is a sysctl with one supported value.
func fixed(name string, only string) knob {
	return knob{Parameter{name, only, "the only supported value"}, func(_ *plan, v string) error {
		if v != only {
			return fmt.Errorf("want %s", only)
		}
		return nil
	}}
}

// ignored is a sysctl without effect.
func ignored(name string) knob {
	return knob{Parameter{name, "any", "no effect"}, func(*plan, string) error { return nil }}
}

// threeNumbers is a sysctl of three numbers: least, default, most.
func threeNumbers(name, about string, set func(p *plan, least, std, most uint64)) knob {
	return knob{Parameter{name, "least default most", about}, func(p *plan, v string) error {
		var n [3]uint64
		fields := strings.Fields(v)
		if len(fields) != 3 {
			return fmt.Errorf("want three numbers")
		}
		for i, f := range fields {
			var err error
			if n[i], err = parseNumber(f, words); err != nil {
				return err
			}
		}
		set(p, n[0], n[1], n[2])
		return nil
	}}
}

func seconds(n uint64) time.Duration { return time.Duration(n) * time.Second }

// sysctls are the supported variables of Linux.
var sysctls = sync.OnceValue(func() []knob {
	return []knob{
		variable("tcp_sack", "--sack", 1, func(p *plan, n uint64) { p.conn.SACK = n == 1 }),
		variable("tcp_timestamps", "--timestamps", 2, func(p *plan, n uint64) { p.conn.Timestamps = n > 0 }),
		variable("tcp_window_scaling", "--wscale", 1, func(p *plan, n uint64) { p.conn.WScale = n == 1 }),
		variable("tcp_ecn", "--ecn; with 2 it is agreed to and not offered", 2, func(p *plan, n uint64) {
			p.conn.ECN, p.passiveECN = n == 1, n == 2
		}),
		{Parameter{"net.ipv4.tcp_congestion_control", "reno, cubic, vegas", "--control"}, func(p *plan, v string) error {
			return setControl(&p.conn, v)
		}},
		variable("tcp_recovery", "--rack: the lowest bit", 1, func(p *plan, n uint64) { p.conn.Policy.RACK = n&1 == 1 }),
		variable("tcp_early_retrans", "--tlp: 3 and 4", 4, func(p *plan, n uint64) { p.conn.Policy.TLP = n >= 3 }),
		variable("tcp_frto", "--frto", 2, func(p *plan, n uint64) { p.conn.Policy.FRTO = n > 0 }),
		threeNumbers("net.ipv4.tcp_rmem", "--recv_buffer and --recv_buffer_max, all of it for payload", func(p *plan, _, std, most uint64) {
			p.conn.RecvBuffer, p.conn.RecvBufferMax = uint32(std), uint32(most)
		}),
		threeNumbers("net.ipv4.tcp_wmem", "--send_buffer: the last", func(p *plan, _, _, most uint64) { p.sendBuffer = int64(most) }),
		variable("tcp_moderate_rcvbuf", "0: --recv_buffer_max=0", 1, func(p *plan, n uint64) {
			if n == 0 {
				p.conn.RecvBufferMax = 0
			}
		}),
		variable("tcp_syncookies", "--syn_cookies: never, overflow, always", 2, func(p *plan, n uint64) {
			p.engine.SYNCookies = [...]tcp.SYNCookies{tcp.CookiesNever, tcp.CookiesOnOverflow, tcp.CookiesAlways}[n]
		}),
		variable("tcp_max_syn_backlog", "--max_syn_rcvd", count, func(p *plan, n uint64) { p.engine.MaxSynRcvd = int(n) }),
		variable("tcp_max_tw_buckets", "--max_time_wait", count, func(p *plan, n uint64) { p.engine.MaxTimeWait = int(n) }),
		variable("tcp_challenge_ack_limit", "--challenge_limit", count, func(p *plan, n uint64) { p.engine.ChallengeLimit = int(n) }),
		variable("tcp_invalid_ratelimit", "--invalid_ack_interval, ms", 3600e3, func(p *plan, n uint64) {
			p.conn.InvalidAckInterval = time.Duration(n) * time.Millisecond
		}),
		variable("tcp_keepalive_time", "--keep_idle, s", 32767, func(p *plan, n uint64) { p.conn.Socket.KeepIdle = seconds(n) }),
		variable("tcp_keepalive_intvl", "--keep_interval, s", 32767, func(p *plan, n uint64) { p.conn.Socket.KeepInterval = seconds(n) }),
		variable("tcp_keepalive_probes", "--keep_count", 255, func(p *plan, n uint64) { p.conn.Socket.KeepCount = int(n) }),
		variable("tcp_notsent_lowat", "SocketOptions.NotSentLowat", words, func(p *plan, n uint64) { p.conn.Socket.NotSentLowat = uint32(n) }),
		variable("tcp_fin_timeout", "--fin_wait_2, s", 32767, func(p *plan, n uint64) { p.conn.Policy.FinWait2 = seconds(n) }),
		variable("tcp_retries1", "--r1", 255, func(p *plan, n uint64) { p.conn.Policy.R1 = int(n) }),
		variable("tcp_retries2", "--max_rexmits, and --r2=0", 255, func(p *plan, n uint64) {
			p.conn.Policy.MaxRexmits, p.conn.Policy.R2 = int(n), 0
		}),
		variable("tcp_syn_retries", "--syn_r2: the time that so many take", 127, synRetries),
		variable("tcp_synack_retries", "the same", 127, synRetries),
		variable("tcp_syn_linear_timeouts", "--syn_linear_timeouts", 127, func(p *plan, n uint64) { p.conn.Policy.SynLinearTimeouts = int(n) }),
		variable("tcp_slow_start_after_idle", "0: --validate=1", 1, func(p *plan, n uint64) { p.conn.Congestion.Validate = n == 0 }),
		variable("tcp_rto_min_us", "--rto_min, µs", 1e9, func(p *plan, n uint64) {
			p.conn.Policy.Bounds.Min = time.Duration(n) * time.Microsecond
		}),
		fixed("net.ipv4.tcp_dsack", "1"),
		fixed("net.ipv4.tcp_fastopen", "0"),
		fixed("net.ipv4.tcp_mtu_probing", "0"),
		fixed("net.ipv4.tcp_autocorking", "0"),
		ignored("net.ipv4.tcp_limit_output_bytes"),
		ignored("net.ipv4.tcp_min_tso_segs"),
		ignored("net.ipv4.tcp_no_metrics_save"),
		ignored("net.core.rmem_max"),
		ignored("net.core.wmem_max"),
		ignored("net.core.somaxconn"),
	}
})

// synRetries sets SynR2 to the expiry after n retransmissions.
func synRetries(p *plan, n uint64) {
	policy := &p.conn.Policy
	rto, sum := policy.Bounds.Initial, time.Duration(0)
	for range n + 1 {
		sum += rto
		rto = min(2*rto, policy.Bounds.Max)
	}
	policy.SynR2 = sum
}

// setControl sets a congestion control by Linux's name or by ours.
func setControl(c *tcp.Config, name string) error {
	if name == "reno" {
		name = "newreno"
	}
	if !slices.Contains(congestion.Names(), name) {
		return fmt.Errorf("want one of reno, %s", strings.Join(congestion.Names(), ", "))
	}
	c.Control = name
	return nil
}
