//go:build !js

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"tcpwheel/internal/setting"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun/link"
)

func init() { sim.TraceFile = readTrace }

// maxTrace bounds the file of a trace in bytes.
const maxTrace = 64 << 20

// readTrace returns the content of the file of a trace.
func readTrace(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTrace+1))
	if err == nil && len(text) > maxTrace {
		err = fmt.Errorf("%s: longer than %d bytes", name, maxTrace)
	}
	return string(text), err
}

// linkValues are the values of the flags of sim.LinkConfig: its settings without those of nested
// objects.
type linkValues []setting.Change

// register adds the flags, the seed and the plan as a group. more adds flags of a command.
func (v *linkValues) register(fs *pflag.FlagSet, seed *uint64, plan *string, more func(*pflag.FlagSet)) {
	addGroup(fs, "Flags of the link", "links", func(fs *pflag.FlagSet) {
		for _, s := range setting.All(sim.LinkConfig{}) {
			if !strings.Contains(s.Name, ".") {
				settingFlag[sim.LinkConfig](fs, (*[]setting.Change)(v), s.Name, s.Name, s.Help)
			}
		}
		fs.Uint64Var(seed, "seed", 1, "seed of the link's random numbers")
		fs.StringVar(plan, "plan", "", "JSON file of the link")
		more(fs)
	})
}

// apply sets the fields whose flags are given.
func (v linkValues) apply(c *sim.LinkConfig) error { return setting.Apply(c, v) }

// linkFlags are the flags of a link whose directions may differ.
type linkFlags struct {
	plan string
	both linkValues
	one  [2][]string // KEY=VALUE
}

func (f *linkFlags) register(fs *pflag.FlagSet, seed *uint64) {
	f.both.register(fs, seed, &f.plan, func(fs *pflag.FlagSet) {
		fs.StringArrayVar(&f.one[0], "a-to-b", nil, "KEY=VALUE: that flag for one direction")
		fs.StringArrayVar(&f.one[1], "b-to-a", nil, "the same for the other direction")
	})
}

// links returns the models of both directions: the plan, changed by the flags for both directions,
// changed by the flags for one.
func (f *linkFlags) links() (links [2]sim.LinkConfig, err error) {
	if f.plan != "" {
		text, err := os.ReadFile(f.plan)
		if err != nil {
			return links, err
		}
		if links, err = link.ParsePlan(text); err != nil {
			return links, fmt.Errorf("%s: %w", f.plan, err)
		}
	}
	for d := range links {
		if err := f.both.apply(&links[d]); err != nil {
			return links, err
		}
		for _, setting := range f.one[d] {
			key, value, ok := strings.Cut(setting, "=")
			if !ok {
				return links, fmt.Errorf("%s: %q, want KEY=VALUE, such as loss=2%%", link.Direction(d), setting)
			}
			if err := links[d].Set(key, value); err != nil {
				return links, fmt.Errorf("%s: %w", link.Direction(d), err)
			}
		}
	}
	return links, nil
}
