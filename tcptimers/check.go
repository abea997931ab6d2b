package tcptimers

import (
	"fmt"
	"time"
)

const (
	minTick = time.Microsecond
	maxTick = 500 * time.Millisecond

	maxSynLinear = 127 // MAX_TCP_SYNCNT of Linux, which bounds its tcp_syn_linear_timeouts
)

// Check returns an error that names the first field out of bounds, its value and the bounds. It
// returns nil if the policy is valid. A valid policy may break an RFC's recommendation, where the
// bound is not a requirement.
func (p *Policy) Check() error {
	for _, check := range []func() error{
		p.checkClocks, p.Bounds.check, p.checkLoss, p.checkGivingUp, p.checkKeepalive, p.DelAck.check, p.checkRest,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) checkClocks() error {
	switch {
	case p.RTTTick < 0 || p.RTTTick > maxTick:
		return fmt.Errorf("tcptimers: RTT tick %v, want 0 (exact) to %v", p.RTTTick, maxTick)
	case p.Tick < minTick || p.Tick > maxTick:
		return fmt.Errorf("tcptimers: tick %v, want %v to %v", p.Tick, minTick, maxTick)
	case p.Phase >= phases:
		return fmt.Errorf("tcptimers: phase %d, want below %d", uint8(p.Phase), phases)
	case p.Estimator >= estimatorKinds:
		return fmt.Errorf("tcptimers: estimator %d, want below %d", uint8(p.Estimator), estimatorKinds)
	case (p.Estimator == EstimatorBSD || p.Estimator == EstimatorTahoe) && p.RTTTick < minTick:
		return fmt.Errorf("tcptimers: RTT tick %v, want %v to %v for an estimator that counts ticks",
			p.RTTTick, minTick, maxTick)
	case p.VarMin < 0 || p.VarMin > maxTimeout:
		return fmt.Errorf("tcptimers: floor on the variation %v, want 0 to %v", p.VarMin, maxTimeout)
	case !(p.Jitter >= 0 && p.Jitter <= 1):
		return fmt.Errorf("tcptimers: jitter %v, want 0..1", p.Jitter)
	case p.DelAck.Heartbeat > 0 && p.WheelTick() < minTick:
		return fmt.Errorf("tcptimers: delayed ACK heartbeat %v and tick %v, want a common measure of at least %v",
			p.DelAck.Heartbeat, p.Tick, minTick)
	}
	return nil
}

func (p *Policy) checkLoss() error {
	switch {
	case p.Rexmit >= rexmitModes:
		return fmt.Errorf("tcptimers: retransmission mode %d, want below %d", uint8(p.Rexmit), rexmitModes)
	case p.SharedTimer && p.Rexmit != RexmitRestart:
		return fmt.Errorf("tcptimers: a shared timer with mode %v, want %v", p.Rexmit, RexmitRestart)
	case p.MaxAckDelay < 0 || p.MaxAckDelay > maxDelAck:
		return fmt.Errorf("tcptimers: peer's ACK delay %v, want 0 to %v", p.MaxAckDelay, maxDelAck)
	case p.ProbeSlack < 0 || p.ProbeSlack > maxDelAck:
		return fmt.Errorf("tcptimers: slack of the probe %v, want 0 to %v", p.ProbeSlack, maxDelAck)
	}
	return nil
}

func (p *Policy) checkGivingUp() error {
	switch {
	case p.R1 < 1:
		return fmt.Errorf("tcptimers: R1 %d, want at least 1", p.R1)
	case p.R2 < 0:
		return fmt.Errorf("tcptimers: R2 %v, want at least 0", p.R2)
	case p.MaxRexmits < 0 || p.MaxRexmits > 254: // a segment counts 255 transmissions
		return fmt.Errorf("tcptimers: retransmissions %d, want 0..254", p.MaxRexmits)
	case p.R2 == 0 && p.MaxRexmits == 0:
		return fmt.Errorf("tcptimers: R2 %v and retransmissions %d, want one above 0", p.R2, p.MaxRexmits)
	case p.SynR2 <= 0:
		return fmt.Errorf("tcptimers: R2 of a SYN %v, want above 0", p.SynR2)
	case p.SynLinearTimeouts < 0 || p.SynLinearTimeouts > maxSynLinear:
		return fmt.Errorf("tcptimers: linear timeouts of a SYN %d, want 0..%d", p.SynLinearTimeouts, maxSynLinear)
	}
	return nil
}

func (p *Policy) checkKeepalive() error {
	switch {
	case p.KeepIdle <= 0:
		return fmt.Errorf("tcptimers: keepalive after %v, want above 0", p.KeepIdle)
	case p.KeepInterval <= 0:
		return fmt.Errorf("tcptimers: keepalive interval %v, want above 0", p.KeepInterval)
	case p.KeepCount < 1:
		return fmt.Errorf("tcptimers: keepalive probes %d, want at least 1", p.KeepCount)
	}
	return nil
}

func (p *Policy) checkRest() error {
	switch {
	case p.PersistMin <= 0:
		return fmt.Errorf("tcptimers: minimum persist interval %v, want above 0", p.PersistMin)
	case p.PersistMax < p.PersistMin || p.PersistMax > maxTimeout:
		return fmt.Errorf("tcptimers: maximum persist interval %v, want %v (the minimum) to %v",
			p.PersistMax, p.PersistMin, maxTimeout)
	case p.MSL <= 0 || p.MSL > 2*time.Minute:
		return fmt.Errorf("tcptimers: MSL %v, want above 0 and up to 2m0s", p.MSL)
	case p.FinWait2 <= 0:
		return fmt.Errorf("tcptimers: FIN-WAIT-2 %v, want above 0", p.FinWait2)
	}
	return nil
}
