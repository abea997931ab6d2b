package tcptimers

import "time"

// internet is for paths of any kind.
//
// DEVIATION RFC 6298 §2 (2.4), SHOULD: the floor is 50 ms on the variation, and not 1 s on the
// timeout. The 1 s avoids retransmitting to a peer that merely delays its ACK. For peers that
// delay by 40 ms (Linux) 50 ms suffice; the rest is the 10 ms by which a timer of a peer with HZ
// 100 is late. SRTT is never below the round-trip time of the path, so RTO ≥ RTT + 50 ms whatever
// the samples. If a peer delays by 200 ms, a retransmission may be spurious: F-RTO, Eifel and
// DSACK undo its effect on the window, and RTTVAR then includes the delay.
func internet() Policy {
	p := standard
	p.Rexmit = RexmitPerSegment
	p.Bounds = Bounds{Initial: time.Second, Min: 50 * time.Millisecond, Max: 60 * time.Second}
	p.VarMin = 50 * time.Millisecond
	p.PersistMin = 50 * time.Millisecond
	p.RACK, p.TLP, p.FRTO = true, true, true
	p.AckEvidence = true
	return p
}

// datacenter is for round trips of 0.1 to 1 ms, with both ends under one roof. Its floor of 5 ms,
// with ACK delays a millisecond shorter, is what E. Dumazet reports of data centres (Linux commit
// bbf80d7). For a floor of 1 ms (Vasudevan et al., SIGCOMM 2009) set Bounds.Min and VarMin, if
// the peers delay less. The timeout is randomised by half, as published there, so that the
// senders of an incast do not collide again. The first timeout stays 1 s (RFC 6298 §2, 2.1):
// neither the path nor the listener's queue is known yet.
func datacenter() Policy {
	p := internet()
	p.Tick = 10 * time.Microsecond
	p.Bounds.Min, p.VarMin = 5*time.Millisecond, 5*time.Millisecond
	p.Jitter = 0.5
	p.MaxAckDelay = 4 * time.Millisecond
	p.DelAck.Delay, p.DelAck.Min, p.DelAck.Max = 4*time.Millisecond, time.Millisecond, 4*time.Millisecond
	p.PersistMin = 5 * time.Millisecond
	return p
}

// linuxPolicy is Linux at HZ 250: RTO = SRTT + max(200 ms, 4·RTTVAR), not max(200 ms, ·). Its
// constants are those of include/net/tcp.h and the sysctls' defaults: TCP_DELACK_MIN and MAX,
// tcp_retries1 3 and tcp_retries2 15 (924.6 s at the least RTO), TCP_TIMEWAIT_LEN and
// tcp_fin_timeout 60 s.
//
// tcp_syn_linear_timeouts is 4, the default since 6.5. For older kernels set SynLinearTimeouts to
// 0.
//
// DEVIATION RFC 9293 §3.8.3 (MUST-23): tcp_syn_retries 6 gives up a SYN after 131 s, and a
// SYN-ACK after 127.
//
// DEVIATION RFC 9293 §3.8.6.1 (MUST-36): window probes have no data.
func linuxPolicy() Policy {
	p := standard
	p.Rexmit = RexmitRestart
	p.Estimator = EstimatorLinux
	p.Bounds = LinuxBounds
	p.Tick = 4 * time.Millisecond
	p.RTTTick = time.Microsecond // tcp_clock_us
	p.RACK, p.TLP, p.FRTO = true, true, true
	p.DelAck.Max = 200 * time.Millisecond
	p.DelAck.PingPong = true
	p.R2 = 924600 * time.Millisecond
	p.SynR2 = 127 * time.Second
	p.SynLinearTimeouts = LinuxSynLinearTimeouts
	p.PersistMin, p.PersistMax = 200*time.Millisecond, 120*time.Second
	p.EmptyProbes = true
	p.LateReorder = true
	return p
}

// linuxJiffies is Linux to the jiffy, for comparison with captures. Its timers expire as in the
// kernel's wheel and not at the next tick, and those of the probe and of RACK are longer by
// TCP_TIMEOUT_MIN_US. CONFIG_HZ is 1/Tick.
func linuxJiffies() Policy {
	p := linuxPolicy()
	p.Phase = PhaseJiffies
	p.LateReorder = false // PhaseJiffies rounds so
	p.ProbeSlack = 2 * time.Millisecond
	p.SACKsFirst = true
	p.SharedTimer, p.ReorderedDSACKs = true, true
	return p
}

// bsd44 is 4.4BSD: all timers count sweeps of 500 ms over all connections, and delayed ACKs leave
// at a sweep of 200 ms. Its constants are those of tcp_timer.h: 12 retransmissions, 75 s for a
// handshake, 8 keepalive probes, FIN-WAIT-2 of 10 min and 75 s.
//
// DEVIATION RFC 9293 §3.8.3 (MUST-23): TCPTV_KEEP_INIT gives up a SYN after 75 s.
func bsd44() Policy {
	p := standard
	p.Rexmit = RexmitRestart
	p.Estimator = EstimatorBSD
	p.Bounds = BSDBounds
	p.Tick, p.RTTTick, p.Phase = SlowTick, SlowTick, PhaseCountdown
	p.OneSample = true
	p.DelAck = DelAckConfig{Every: 2, Heartbeat: FastTick, Max: FastTick}
	p.R2, p.MaxRexmits = 0, 12
	p.SynR2 = 75 * time.Second
	p.KeepCount = 8
	p.PersistMin, p.PersistMax = 5*time.Second, 60*time.Second
	p.FinWait2 = 675 * time.Second
	return p
}
