package tcptimers

import (
	"fmt"
	"time"

	"tcpwheel/internal/setting"
)

const (
	minTick = time.Microsecond
	maxTick = 500 * time.Millisecond
)

// Check returns an error that names the first setting out of bounds, its value and the bounds. It
// returns nil if the policy is valid. A valid policy may break an RFC's recommendation, where the
// bound is not a requirement.
func (p *Policy) Check() error {
	if err := setting.Check(p); err != nil {
		return fmt.Errorf("tcptimers: %w", err)
	}
	for _, check := range []func() error{p.Bounds.check, p.DelAck.check, p.checkClocks, p.checkRest} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) checkClocks() error {
	switch {
	case (p.Estimator == EstimatorBSD || p.Estimator == EstimatorTahoe) && p.RTTTick < minTick:
		return fmt.Errorf("tcptimers: rtt-tick %v, want %v to %v for an estimator that counts ticks", p.RTTTick, minTick, maxTick)
	case p.DelAck.Heartbeat > 0 && p.WheelTick() < minTick:
		return fmt.Errorf("tcptimers: delack-heartbeat %v and tick %v, want a common measure of at least %v",
			p.DelAck.Heartbeat, p.Tick, minTick)
	case p.SharedTimer && p.Rexmit != RexmitRestart:
		return fmt.Errorf("tcptimers: shared-timer with rexmit %v, want %v", p.Rexmit, RexmitRestart)
	}
	return nil
}

func (p *Policy) checkRest() error {
	switch {
	case p.R2 == 0 && p.MaxRexmits == 0:
		return fmt.Errorf("tcptimers: r2 %v and max-rexmits %d, want one above 0", p.R2, p.MaxRexmits)
	case p.KeepIdle <= 0 || p.KeepInterval <= 0 || p.KeepCount < 1:
		return fmt.Errorf("tcptimers: keepalive after %v, then each %v, %d times, want all above 0", p.KeepIdle, p.KeepInterval, p.KeepCount)
	case p.PersistMax < p.PersistMin:
		return fmt.Errorf("tcptimers: persist-max %v, want %v (persist-min) to %v", p.PersistMax, p.PersistMin, maxTimeout)
	}
	return nil
}
