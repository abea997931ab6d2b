package tcptimers

import (
	"slices"
	"testing"
	"time"
)

func TestParsePolicyAcceptsAllNames(t *testing.T) {
	want := []string{"per-segment", "rfc6298", "rfc7765", "bsd", "linux", "internet", "datacenter", "linux-jiffies", "lwip"}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %v, want %v", got, want)
	}
	for _, name := range Names() {
		if p, err := ParsePolicy(name); err != nil || p.Name != name || p.Check() != nil {
			t.Errorf("ParsePolicy(%q) is named %q: %v, %v", name, p.Name, err, p.Check())
		}
		for text, tick := range map[string]time.Duration{"10ms": 10 * time.Millisecond, "exact": ExactTick, "500ms": maxTick} {
			p, err := ParsePolicy(name + "@" + text)
			if err != nil || p.Name != name+"@"+text || p.Tick != tick {
				t.Errorf("ParsePolicy(%q) has name %q, tick %v: %v", name+"@"+text, p.Name, p.Tick, err)
			}
		}
	}
}

func TestParsePolicyErrorsListWhatIsAccepted(t *testing.T) {
	const names = "per-segment, rfc6298, rfc7765, bsd, linux, internet, datacenter, linux-jiffies, lwip"
	for text, want := range map[string]string{
		"":            `tcptimers: unknown policy "", want one of ` + names,
		"moon":        `tcptimers: unknown policy "moon", want one of ` + names,
		"moon@10ms":   `tcptimers: unknown policy "moon", want one of ` + names,
		"linux@":      `tcptimers: policy "linux@": tick "", want exact, or a duration such as 20ms, 1us to 500ms`,
		"linux@1s":    `tcptimers: policy "linux@1s": tick "1s", want exact, or a duration such as 20ms, 1us to 500ms`,
		"linux@0s":    `tcptimers: policy "linux@0s": tick "0s", want exact, or a duration such as 20ms, 1us to 500ms`,
		"linux@1ms@2": `tcptimers: policy "linux@1ms@2": tick "1ms@2", want exact, or a duration such as 20ms, 1us to 500ms`,
		"bsd@1000001ns": `tcptimers: policy "bsd@1000001ns": tcptimers: delack-heartbeat 200ms and tick 1.000001ms, ` +
			`want a common measure of at least 1µs`,
	} {
		if _, err := ParsePolicy(text); err == nil || err.Error() != want {
			t.Errorf("ParsePolicy(%q): %v, want %s", text, err, want)
		}
	}
}
