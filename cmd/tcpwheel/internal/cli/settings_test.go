package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tcpwheel/netstack/sim/script"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel/base/setting"
)

const settingsIntro = `# Settings

A test writes this page from the declarations: ` + "`go test ./cmd/tcpwheel/internal/cli -run Settings -update`" + `.

Every setting of TCP and of a link has one name and one syntax: in the texts of policies, in flags, plans, scenarios
and the demo. In names ` + "`_` and `-`" + ` are the same. A switch is on, true or 1, or off, false or 0. The text of a
policy is a name and changes:

` + "```text\nNAME[@TICK] [KEY=VALUE] [+SWITCH] [-SWITCH] ...\n```" + `

as in ` + "`linux@1ms rto-min=5ms +pacing -tlp`, or without blanks `linux@1ms+rto-min=5ms+pacing-tlp`" + `. NAME is a policy or
profile of [tcptimers](../tcptimers). @TICK is short for tick=TICK. Replays take the settings of timers, all other texts
of policies those of connections too. The settings of links and of the demo are in ` + "`tcpwheel link --help` and\n`tcpwheel demo --help`, those of a plan of links in [link.md](link.md) and\n`go doc ./netstack/sim LinkConfig`.\n"

// settingsMarkdown returns docs/settings.md.
func settingsMarkdown() string {
	var b strings.Builder
	b.WriteString(settingsIntro)
	seen := map[string]bool{}
	for _, part := range []struct {
		title, intro string
		all          []setting.Setting
	}{
		{"Timers", "Package tcptimers, Policy.", setting.All(tcptimers.Policy{})},
		{"Connections", "Package netstack/tcp, Config.", setting.All(tcp.Config{})},
		{"Engines", "Package netstack/tcp, EngineConfig. Scenarios have them.", setting.All(tcp.EngineConfig{})},
		{"Scenarios", "Lines `--name=value` before the first event: all of the above, and these of the run.", script.Options()},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| setting | value | meaning |\n|---|---|---|\n", part.title, part.intro)
		for _, s := range part.all {
			if seen[s.Name] {
				continue
			}
			seen[s.Name] = true
			value := strings.Join(s.Values, ", ")
			if s.Kind == "switch" || value == "" {
				value = s.Kind
			}
			if s.Bounds != "" {
				value += ", " + s.Bounds
			}
			name := "`" + strings.Join(append([]string{s.Name}, s.Aliases...), "`, `") + "`"
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value, s.Help)
		}
	}
	return b.String()
}

// TestSettingsAreDocumented compares docs/settings.md with the declarations. -update rewrites it.
func TestSettingsAreDocumented(t *testing.T) {
	const name = "../../../../docs/settings.md"
	want := settingsMarkdown()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run go test ./cmd/tcpwheel/internal/cli -run Settings -update", name, err)
	}
}
