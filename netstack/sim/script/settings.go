package script

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/base/quantity"
)

// Parameter is a setting that a script can change.
type Parameter struct {
	Name  string // without the dashes of an option
	Value string // accepted values
	About string
}

// knob is a Parameter and its effect.
type knob struct {
	Parameter
	set func(p *plan, value string) error
}

// Options returns the parameters of --name=value.
func Options() []Parameter { return parametersOf(options()) }

// Sysctls returns the parameters of sysctl.
func Sysctls() []Parameter { return parametersOf(sysctls()) }

func parametersOf(knobs []knob) []Parameter {
	all := make([]Parameter, len(knobs))
	for i, k := range knobs {
		all[i] = k.Parameter
	}
	return all
}

// setKnob sets the named knob. Its error lists the names.
func setKnob(knobs []knob, what, name, value string, p *plan) error {
	i := slices.IndexFunc(knobs, func(k knob) bool { return k.Name == name })
	if i < 0 {
		names := make([]string, len(knobs))
		for i, k := range knobs {
			names[i] = k.Name
		}
		slices.Sort(names)
		return fmt.Errorf("unknown %s%s, want one of %s", what, name, strings.Join(names, ", "))
	}
	if err := knobs[i].set(p, value); err != nil {
		return fmt.Errorf("%s%s=%s: %w", what, name, value, err)
	}
	return nil
}

func (p *plan) option(name, value string) error { return setKnob(options(), "--", name, value, p) }

// Kinds of values.

func boolean(name, about string, field func(*plan) *bool) knob {
	return knob{Parameter{name, "0 or 1", about}, func(p *plan, v string) error {
		switch v {
		case "0", "false", "off":
			*field(p) = false
		case "1", "true", "on":
			*field(p) = true
		default:
			return fmt.Errorf("want 0 or 1")
		}
		return nil
	}}
}

func span(name, about string, field func(*plan) *time.Duration) knob {
	return spans(name, about, func(p *plan, d time.Duration) { *field(p) = d })
}

// spans sets several fields.
func spans(name, about string, set func(*plan, time.Duration)) knob {
	return knob{Parameter{name, "time", about}, func(p *plan, v string) error {
		d, err := quantity.ParseDuration(v)
		if err == nil {
			set(p, d)
		}
		return err
	}}
}

func number[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](name, about string, bound uint64, field func(*plan) *T) knob {
	return knob{Parameter{name, "number", about}, func(p *plan, v string) error {
		n, err := parseNumber(v, bound)
		if err == nil {
			*field(p) = T(n)
		}
		return err
	}}
}

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

func choice[T any](name, about string, names []string, values []T, field func(*plan) *T) knob {
	return knob{Parameter{name, strings.Join(names, ", "), about}, func(p *plan, v string) error {
		i := slices.Index(names, v)
		if i < 0 {
			return fmt.Errorf("want one of %s", strings.Join(names, ", "))
		}
		*field(p) = values[i]
		return nil
	}}
}

func address(name, about string, field func(*plan) *netip.Addr) knob {
	return knob{Parameter{name, "address", about}, func(p *plan, v string) (err error) {
		*field(p), err = netip.ParseAddr(v)
		return err
	}}
}

const (
	count = 1 << 20
	ports = 1<<16 - 1
	words = 1<<32 - 1
)

// options are the knobs of --name=value.
var options = sync.OnceValue(func() []knob {
	return []knob{
		// Of the run.
		{Parameter{"policy", strings.Join(tcptimers.Names(), ", "), "tcptimers.ParsePolicy"}, func(*plan, string) error { return nil }},
		{Parameter{"profile", strings.Join(tcptimers.ProfileNames(), ", "), "tcptimers.NewProfile"}, func(*plan, string) error { return nil }},
		{Parameter{"tolerance_usecs", "µs", "by how much a packet or a return may be early or late"}, func(p *plan, v string) error {
			n, err := parseNumber(v, 1e9)
			p.tolerance = time.Duration(n) * time.Microsecond
			return err
		}},
		choice("ip_version", "", []string{"ipv4", "ipv6"}, []bool{false, true}, func(p *plan) *bool { return &p.ipv6 }),
		number("mtu", "of the path", 1<<17, func(p *plan) *int { return &p.engine.MTU }),
		address("local_ip", "of the engine", func(p *plan) *netip.Addr { return &p.local }),
		address("remote_ip", "of the script", func(p *plan) *netip.Addr { return &p.remote }),
		number("bind_port", "that bind takes, if it names none", ports, func(p *plan) *uint16 { return &p.bindPort }),
		number("connect_port", "that connect goes to, if it names none", ports, func(p *plan) *uint16 { return &p.connectPort }),
		number("remote_isn", "the remote end's live sequence number for 0 in the script", words, func(p *plan) *uint32 { return &p.remoteISN }),
		number("seed", "of the engine's randomness and its secret", 1<<64-1, func(p *plan) *uint64 { return &p.engine.Seed }),
		span("start", "when the script begins, since the epoch that ticks count from", func(p *plan) *time.Duration { return &p.start }),
		{Parameter{"scheme", "name", "of the wheel"}, func(p *plan, v string) error { p.engine.Scheme = v; return nil }},

		// Of tcptimers.Policy.
		span("tick", "Policy.Tick", func(p *plan) *time.Duration { return &p.conn.Policy.Tick }),
		span("rtt_tick", "Policy.RTTTick", func(p *plan) *time.Duration { return &p.conn.Policy.RTTTick }),
		span("rto_initial", "Policy.Bounds.Initial", func(p *plan) *time.Duration { return &p.conn.Policy.Bounds.Initial }),
		span("rto_min", "Policy.Bounds.Min", func(p *plan) *time.Duration { return &p.conn.Policy.Bounds.Min }),
		span("rto_max", "Policy.Bounds.Max", func(p *plan) *time.Duration { return &p.conn.Policy.Bounds.Max }),
		span("var_min", "Policy.VarMin", func(p *plan) *time.Duration { return &p.conn.Policy.VarMin }),
		choice("phase", "Policy.Phase", []string{"shared", "own", "countdown", "jiffies"},
			[]tcptimers.Phase{tcptimers.PhaseShared, tcptimers.PhaseOwn, tcptimers.PhaseCountdown, tcptimers.PhaseJiffies},
			func(p *plan) *tcptimers.Phase { return &p.conn.Policy.Phase }),
		choice("estimator", "Policy.Estimator", []string{"rfc6298", "linux", "bsd", "tahoe"},
			[]tcptimers.EstimatorKind{tcptimers.EstimatorRFC6298, tcptimers.EstimatorLinux, tcptimers.EstimatorBSD, tcptimers.EstimatorTahoe},
			func(p *plan) *tcptimers.EstimatorKind { return &p.conn.Policy.Estimator }),
		choice("rexmit", "Policy.Rexmit", []string{"per-segment", "restart", "rto-restart"},
			[]tcptimers.RexmitMode{tcptimers.RexmitPerSegment, tcptimers.RexmitRestart, tcptimers.RexmitRTORestart},
			func(p *plan) *tcptimers.RexmitMode { return &p.conn.Policy.Rexmit }),
		boolean("one_sample", "Policy.OneSample", func(p *plan) *bool { return &p.conn.Policy.OneSample }),
		{Parameter{"jitter", "0 to 1", "Policy.Jitter"}, func(p *plan, v string) (err error) {
			p.conn.Policy.Jitter, err = quantity.ParseProbability(v)
			return err
		}},
		boolean("rack", "Policy.RACK", func(p *plan) *bool { return &p.conn.Policy.RACK }),
		boolean("tlp", "Policy.TLP", func(p *plan) *bool { return &p.conn.Policy.TLP }),
		boolean("frto", "Policy.FRTO", func(p *plan) *bool { return &p.conn.Policy.FRTO }),
		boolean("sacks_first", "Policy.SACKsFirst", func(p *plan) *bool { return &p.conn.Policy.SACKsFirst }),
		boolean("late_reorder", "Policy.LateReorder", func(p *plan) *bool { return &p.conn.Policy.LateReorder }),
		boolean("reordered_dsacks", "Policy.ReorderedDSACKs", func(p *plan) *bool { return &p.conn.Policy.ReorderedDSACKs }),
		boolean("shared_timer", "Policy.SharedTimer", func(p *plan) *bool { return &p.conn.Policy.SharedTimer }),
		boolean("ack_evidence", "Policy.AckEvidence", func(p *plan) *bool { return &p.conn.Policy.AckEvidence }),
		span("max_ack_delay", "Policy.MaxAckDelay", func(p *plan) *time.Duration { return &p.conn.Policy.MaxAckDelay }),
		span("probe_slack", "Policy.ProbeSlack", func(p *plan) *time.Duration { return &p.conn.Policy.ProbeSlack }),
		number("r1", "Policy.R1", count, func(p *plan) *int { return &p.conn.Policy.R1 }),
		span("r2", "Policy.R2", func(p *plan) *time.Duration { return &p.conn.Policy.R2 }),
		number("max_rexmits", "Policy.MaxRexmits", count, func(p *plan) *int { return &p.conn.Policy.MaxRexmits }),
		span("syn_r2", "Policy.SynR2", func(p *plan) *time.Duration { return &p.conn.Policy.SynR2 }),
		number("syn_linear_timeouts", "Policy.SynLinearTimeouts", count, func(p *plan) *int { return &p.conn.Policy.SynLinearTimeouts }),
		spans("delack", "Policy.DelAck.Delay, Min and Max: a fixed delay, 0 for none", func(p *plan, d time.Duration) {
			c := &p.conn.Policy.DelAck
			c.Delay, c.Min, c.Max = d, d, d
			if d == 0 {
				c.Every = 1
			}
		}),
		span("delack_min", "Policy.DelAck.Min", func(p *plan) *time.Duration { return &p.conn.Policy.DelAck.Min }),
		span("delack_max", "Policy.DelAck.Max", func(p *plan) *time.Duration { return &p.conn.Policy.DelAck.Max }),
		number("delack_every", "Policy.DelAck.Every", count, func(p *plan) *int { return &p.conn.Policy.DelAck.Every }),
		boolean("delack_ping_pong", "Policy.DelAck.PingPong", func(p *plan) *bool { return &p.conn.Policy.DelAck.PingPong }),
		number("delack_quick", "Policy.DelAck.Quick: how many segments are acknowledged at once at the start", count,
			func(p *plan) *int { return &p.conn.Policy.DelAck.Quick }),
		span("heartbeat", "Policy.DelAck.Heartbeat", func(p *plan) *time.Duration { return &p.conn.Policy.DelAck.Heartbeat }),
		span("persist_min", "Policy.PersistMin", func(p *plan) *time.Duration { return &p.conn.Policy.PersistMin }),
		boolean("empty_probes", "Policy.EmptyProbes", func(p *plan) *bool { return &p.conn.Policy.EmptyProbes }),
		span("persist_max", "Policy.PersistMax", func(p *plan) *time.Duration { return &p.conn.Policy.PersistMax }),
		span("msl", "Policy.MSL", func(p *plan) *time.Duration { return &p.conn.Policy.MSL }),
		span("fin_wait_2", "Policy.FinWait2", func(p *plan) *time.Duration { return &p.conn.Policy.FinWait2 }),

		// Of tcp.Config and congestion.Config.
		choice("control", "Config.Control", congestion.Names(), congestion.Names(), func(p *plan) *string { return &p.conn.Control }),
		number("iw", "Congestion.InitialWindow, bytes", words, func(p *plan) *uint32 { return &p.conn.Congestion.InitialWindow }),
		number("max_window", "Congestion.MaxWindow, bytes", words, func(p *plan) *uint32 { return &p.conn.Congestion.MaxWindow }),
		choice("slow_start", "Congestion.SlowStart", []string{"default", "standard", "hystart++", "hystart-linux"},
			[]congestion.SlowStart{congestion.DefaultSlowStart, congestion.StandardSlowStart, congestion.HyStartPlusPlus,
				congestion.HyStartLinux},
			func(p *plan) *congestion.SlowStart { return &p.conn.Congestion.SlowStart }),
		number("hystart_limit", "Congestion.HyStartLimit, segments; 0 is 8, or none when paced and in Linux's", words,
			func(p *plan) *uint32 { return &p.conn.Congestion.HyStartLimit }),
		boolean("limit_burst", "Congestion.LimitBurst", func(p *plan) *bool { return &p.conn.Congestion.LimitBurst }),
		boolean("validate", "Congestion.Validate", func(p *plan) *bool { return &p.conn.Congestion.Validate }),
		choice("reduce", "Congestion.Reduce", []string{"default", "flight", "cwnd"},
			[]congestion.Reduce{congestion.DefaultReduce, congestion.ReduceFlight, congestion.ReduceCwnd},
			func(p *plan) *congestion.Reduce { return &p.conn.Congestion.Reduce }),
		boolean("count_delivered", "Congestion.CountDelivered", func(p *plan) *bool { return &p.conn.Congestion.CountDelivered }),
		boolean("no_fast_convergence", "Congestion.NoFastConvergence", func(p *plan) *bool { return &p.conn.Congestion.NoFastConvergence }),
		boolean("vegas_check", "Config.VegasCheck", func(p *plan) *bool { return &p.conn.VegasCheck }),
		boolean("reno", "Config.Reno", func(p *plan) *bool { return &p.conn.Reno }),
		boolean("pacing", "Config.Pacing", func(p *plan) *bool { return &p.conn.Pacing }),
		boolean("timestamps", "Config.Timestamps", func(p *plan) *bool { return &p.conn.Timestamps }),
		boolean("require_timestamps", "Config.RequireTimestamps", func(p *plan) *bool { return &p.conn.RequireTimestamps }),
		boolean("icmp_ends_handshake", "Config.ICMPEndsHandshake", func(p *plan) *bool { return &p.conn.ICMPEndsHandshake }),
		boolean("wscale", "Config.WScale", func(p *plan) *bool { return &p.conn.WScale }),
		boolean("sack", "Config.SACK", func(p *plan) *bool { return &p.conn.SACK }),
		boolean("ecn", "Config.ECN", func(p *plan) *bool { return &p.conn.ECN }),
		span("timestamp_tick", "Config.TimestampTick", func(p *plan) *time.Duration { return &p.conn.TimestampTick }),
		{Parameter{"tcp_ts_tick_usecs", "µs", "Config.TimestampTick"}, func(p *plan, v string) error {
			n, err := parseNumber(v, 1e9)
			p.conn.TimestampTick = time.Duration(n) * time.Microsecond
			return err
		}},
		number("recv_buffer", "Config.RecvBuffer, bytes", words, func(p *plan) *uint32 { return &p.conn.RecvBuffer }),
		number("recv_buffer_max", "Config.RecvBufferMax, bytes", words, func(p *plan) *uint32 { return &p.conn.RecvBufferMax }),
		number("send_buffer", "bytes written and not acknowledged, at most", words, func(p *plan) *int64 { return &p.sendBuffer }),
		number("max_out_of_order", "Config.MaxOutOfOrder", count, func(p *plan) *int { return &p.conn.MaxOutOfOrder }),
		number("max_segments", "Config.MaxSegments", count, func(p *plan) *int { return &p.conn.MaxSegments }),
		boolean("ack_push", "Config.AckPush", func(p *plan) *bool { return &p.conn.AckPush }),
		boolean("prr_in_cwr", "Config.PRRInCWR", func(p *plan) *bool { return &p.conn.PRRInCWR }),
		boolean("reset_at_ack", "Config.ResetAtAck", func(p *plan) *bool { return &p.conn.ResetAtAck }),
		boolean("whole_sacks", "Config.WholeSACKs", func(p *plan) *bool { return &p.conn.WholeSACKs }),
		boolean("minshall", "Config.Minshall", func(p *plan) *bool { return &p.conn.Minshall }),
		span("invalid_ack_interval", "Config.InvalidAckInterval", func(p *plan) *time.Duration { return &p.conn.InvalidAckInterval }),

		// Of tcp.SocketOptions, each socket's initial options.
		boolean("nodelay", "SocketOptions.NoDelay", func(p *plan) *bool { return &p.conn.Socket.NoDelay }),
		boolean("quickack", "SocketOptions.QuickAck", func(p *plan) *bool { return &p.conn.Socket.QuickAck }),
		span("user_timeout", "SocketOptions.UserTimeout", func(p *plan) *time.Duration { return &p.conn.Socket.UserTimeout }),
		number("max_seg", "SocketOptions.MaxSeg", ports, func(p *plan) *uint16 { return &p.conn.Socket.MaxSeg }),
		boolean("keepalive", "SocketOptions.Keepalive", func(p *plan) *bool { return &p.conn.Socket.Keepalive }),
		span("keep_idle", "SocketOptions.KeepIdle", func(p *plan) *time.Duration { return &p.conn.Socket.KeepIdle }),
		span("keep_interval", "SocketOptions.KeepInterval", func(p *plan) *time.Duration { return &p.conn.Socket.KeepInterval }),
		number("keep_count", "SocketOptions.KeepCount", count, func(p *plan) *int { return &p.conn.Socket.KeepCount }),

		// Of tcp.EngineConfig.
		choice("syn_cookies", "EngineConfig.SYNCookies", []string{"overflow", "never", "always"},
			[]tcp.SYNCookies{tcp.CookiesOnOverflow, tcp.CookiesNever, tcp.CookiesAlways},
			func(p *plan) *tcp.SYNCookies { return &p.engine.SYNCookies }),
		number("max_syn_rcvd", "EngineConfig.MaxSynRcvd", count, func(p *plan) *int { return &p.engine.MaxSynRcvd }),
		number("max_time_wait", "EngineConfig.MaxTimeWait", count, func(p *plan) *int { return &p.engine.MaxTimeWait }),
		number("challenge_limit", "EngineConfig.ChallengeLimit", count, func(p *plan) *int { return &p.engine.ChallengeLimit }),
	}
})
