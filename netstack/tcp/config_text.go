package tcp

import (
	"fmt"

	"tcpwheel/internal/setting"
	"tcpwheel/tcptimers"
)

// ParseConfig reads the text of a policy, as tcptimers.ParsePolicy does, whose changes may also be
// settings of Config: "linux@1ms control=vegas alpha=1 beta=3 -sack". The result is DefaultConfig
// of the policy, with the other changes made after it, and then more. It passes Check.
func ParseConfig(text string, more ...setting.Change) (Config, error) {
	name, changes, err := setting.Words(text, Config{})
	if err != nil {
		return Config{}, fmt.Errorf("tcp: policy %w", err)
	}
	p, err := tcptimers.NewPolicy(name)
	if err != nil {
		return Config{}, err
	}
	return Configure(p, text, append(changes, more...))
}

// Configure returns DefaultConfig of a policy with changes. Those to the policy are made first; its
// name becomes text. The result passes Check.
func Configure(p tcptimers.Policy, text string, changes []setting.Change) (Config, error) {
	own, others := setting.Split(changes, &p)
	if err := p.Change(text, own); err != nil {
		return Config{}, err
	}
	c := DefaultConfig(p)
	err := setting.Apply(&c, others)
	if err == nil {
		err = c.Check()
	}
	if cc := &c.Congestion; err == nil && c.Control != "vegas" && (cc.Alpha != 0 || cc.Beta != 0 || cc.Gamma != 0) {
		err = fmt.Errorf("alpha, beta or gamma with control=%s, want control=vegas", c.Control)
	}
	if err != nil {
		return Config{}, fmt.Errorf("tcp: policy %q: %w", text, err)
	}
	return c, nil
}
