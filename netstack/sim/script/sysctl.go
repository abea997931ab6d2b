package script

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
)

// knob is a variable of Linux and its effect.
type knob struct {
	name string
	set  func(p *setup, value string) error
}

// Sysctls returns the names of the supported variables, in order.
func Sysctls() []string {
	var names []string
	for _, k := range sysctls() {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return names
}

// sysctl sets a variable of Linux. Variables of the whole engine may be set only before the first
// event.
func (p *setup) sysctl(name, value string, before bool) error {
	if engineSysctls[name] && !before {
		return fmt.Errorf("sysctl %s=%s: want it before the first event", name, value)
	}
	knobs := sysctls()
	i := slices.IndexFunc(knobs, func(k knob) bool { return k.name == name })
	if i < 0 {
		return fmt.Errorf("unknown sysctl %s, want one of %s", name, strings.Join(Sysctls(), ", "))
	}
	if err := knobs[i].set(p, value); err != nil {
		return fmt.Errorf("sysctl %s=%s: %w", name, value, err)
	}
	return nil
}

const (
	count = 1 << 20
	words = 1<<32 - 1
)

func parseNumber(v string, bound uint64) (uint64, error) {
	n, err := quantity.ParseCount(v)
	if hex, isHex := strings.CutPrefix(v, "0x"); isHex {
		n, err = strconv.ParseUint(hex, 16, 64)
	}
	if err != nil || n > bound {
		return 0, fmt.Errorf("want a number from 0 to %d", bound)
	}
	return n, nil
}

var engineSysctls = map[string]bool{
	"net.ipv4.tcp_syncookies": true, "net.ipv4.tcp_max_syn_backlog": true, "net.ipv4.tcp_max_tw_buckets": true,
	"net.ipv4.tcp_challenge_ack_limit": true, "net.ipv4.tcp_wmem": true,
}

// variable is a numeric sysctl of net.ipv4 with a bound.
func variable(name string, bound uint64, set func(*setup, uint64)) knob {
	return knob{"net.ipv4." + name, func(p *setup, v string) error {
		n, err := parseNumber(v, bound)
		if err == nil {
			set(p, n)
		}
		return err
	}}
}

// same is a sysctl that is a setting, in a unit.
func same(name, to, unit string, bound uint64) knob {
	return knob{"net.ipv4." + name, func(p *setup, v string) error {
		n, err := parseNumber(v, bound)
		if err == nil {
			err = setting.Set(&p.settings, to, strconv.FormatUint(n, 10)+unit)
		}
		return err
	}}
}

// fixed is a sysctl with one supported value.
func fixed(name string, only string) knob {
	return knob{name, func(_ *setup, v string) error {
		if v != only {
			return fmt.Errorf("want %s", only)
		}
		return nil
	}}
}

// ignored is a sysctl without effect.
func ignored(name string) knob {
	return knob{name, func(*setup, string) error { return nil }}
}

// threeNumbers is a sysctl of three numbers: least, default, most.
func threeNumbers(name string, set func(p *setup, least, std, most uint64)) knob {
	return knob{name, func(p *setup, v string) error {
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

// sysctls are the supported variables of Linux.
var sysctls = sync.OnceValue(func() []knob {
	return []knob{
		same("tcp_sack", "sack", "", 1),
		variable("tcp_timestamps", 2, func(p *setup, n uint64) { p.Engine.Conn.Timestamps = n > 0 }),
		same("tcp_window_scaling", "wscale", "", 1),
		variable("tcp_ecn", 2, func(p *setup, n uint64) {
			p.Engine.Conn.ECN, p.passiveECN = n == 1, n == 2
		}),
		{"net.ipv4.tcp_congestion_control", func(p *setup, v string) error {
			return setControl(&p.Engine.Conn, v)
		}},
		same("tcp_recovery", "rack", "", 1),
		variable("tcp_early_retrans", 4, func(p *setup, n uint64) { p.Engine.Conn.Policy.TLP = n >= 3 }),
		variable("tcp_frto", 2, func(p *setup, n uint64) { p.Engine.Conn.Policy.FRTO = n > 0 }),
		threeNumbers("net.ipv4.tcp_rmem", func(p *setup, _, std, most uint64) {
			p.Engine.Conn.RecvBuffer, p.Engine.Conn.RecvBufferMax = uint32(std), uint32(most)
		}),
		threeNumbers("net.ipv4.tcp_wmem", func(p *setup, _, _, most uint64) { p.SendBuffer = int64(most) }),
		variable("tcp_moderate_rcvbuf", 1, func(p *setup, n uint64) {
			if n == 0 {
				p.Engine.Conn.RecvBufferMax = 0
			}
		}),
		variable("tcp_syncookies", 2, func(p *setup, n uint64) {
			p.Engine.SYNCookies = [...]tcp.SYNCookies{tcp.CookiesNever, tcp.CookiesOnOverflow, tcp.CookiesAlways}[n]
		}),
		same("tcp_max_syn_backlog", "max-syn-rcvd", "", count),
		same("tcp_max_tw_buckets", "max-time-wait", "", count),
		same("tcp_challenge_ack_limit", "challenge-limit", "", count),
		same("tcp_invalid_ratelimit", "invalid-ack-interval", "ms", 3600e3),
		same("tcp_keepalive_time", "keep-idle", "s", 32767),
		same("tcp_keepalive_intvl", "keep-interval", "s", 32767),
		same("tcp_keepalive_probes", "keep-count", "", 255),
		same("tcp_notsent_lowat", "notsent-lowat", "", words),
		same("tcp_fin_timeout", "fin-wait-2", "s", 32767),
		same("tcp_retries1", "r1", "", 255),
		variable("tcp_retries2", 255, func(p *setup, n uint64) {
			p.Engine.Conn.Policy.MaxRexmits, p.Engine.Conn.Policy.R2 = int(n), 0
		}),
		variable("tcp_syn_retries", 127, synRetries),
		variable("tcp_synack_retries", 127, synRetries),
		same("tcp_syn_linear_timeouts", "syn-linear-timeouts", "", 127),
		variable("tcp_slow_start_after_idle", 1, func(p *setup, n uint64) { p.Engine.Conn.Congestion.Validate = n == 0 }),
		same("tcp_rto_min_us", "rto-min", "us", 1e9),
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
func synRetries(p *setup, n uint64) {
	policy := &p.Engine.Conn.Policy
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
