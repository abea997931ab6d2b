package tcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
)

// TestParseConfig checks that changes to the policy come before its defaults, and others after.
func TestParseConfig(t *testing.T) {
	c, err := tcp.ParseConfig("linux@1ms floor=50ms cc=vegas alpha=1 beta=3 -sack +pacing recv_buffer=64KiB",
		setting.Change{Name: "sack", Text: "on"})
	p := c.Policy
	if err != nil || p.Tick != time.Millisecond || p.Bounds.Min != 50*time.Millisecond || c.Control != "vegas" ||
		c.Congestion.Beta != 3 || !c.SACK || !c.Pacing || c.RecvBuffer != 1<<16 || !c.WholeSACKs {
		t.Errorf("ParseConfig = %+v, %v", c, err)
	}
	if c, err := tcp.ParseConfig("linux estimator=rfc6298"); err != nil || c.WholeSACKs {
		t.Errorf("another estimator than Linux's: WholeSACKs %v, %v, want false", c.WholeSACKs, err)
	}
	for _, name := range tcptimers.Names() {
		p, _ := tcptimers.ParsePolicy(name)
		if c, err := tcp.ParseConfig(name); err != nil || c != tcp.DefaultConfig(p) {
			t.Errorf("%s: %v, want DefaultConfig", name, err)
		}
	}
	for text, want := range map[string]string{
		"moon":                      `tcptimers: unknown policy "moon", want one of per-segment, `,
		"linux+speed=3":             `tcp: policy "linux+speed=3": setting "speed", want one of ack-evidence, `,
		"linux tick=1s":             `tcptimers: policy "linux tick=1s": tick "1s", want exact, or a duration such as 20ms, 1us to 500ms`,
		"linux max-seg=47":          `tcp: policy "linux max-seg=47": max-seg "47", want a whole number, 48 or more, or 0`,
		"linux alpha=1":             `tcp: policy "linux alpha=1": alpha, beta or gamma with control=cubic, want control=vegas`,
		"linux rto-max=100ms":       `tcptimers: policy "linux rto-max=100ms": tcptimers: rto-max 100ms, want 200ms (rto-min) to 24h0m0s`,
		"linux max-window=1":        `tcp: policy "linux max-window=1": congestion: MaxWindow 1 bytes, want `,
		"per-segment +shared-timer": `tcptimers: policy "per-segment +shared-timer": tcptimers: shared-timer with rexmit per-segment, want restart`,
	} {
		if _, err := tcp.ParseConfig(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ParseConfig(%q): %v, want %s", text, err, want)
		}
	}
}

// TestSettingsKnowTheControls checks that the setting has the names of the controllers.
func TestSettingsKnowTheControls(t *testing.T) {
	if s, _ := setting.Find(tcp.Config{}, "control"); !slices.Equal(s.Values, congestion.Names()) {
		t.Errorf("control is one of %v, want %v", s.Values, congestion.Names())
	}
}

func ExampleParseConfig() {
	c, err := tcp.ParseConfig("linux@1ms+rto-min=5ms+pacing-tlp")
	fmt.Println(c.Policy.Tick, c.Policy.Bounds.Min, c.Pacing, c.Policy.TLP, err)
	// Output: 1ms 5ms true false <nil>
}
