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

// register adds the flags, the seed and the plan as a group, with more flags of the command.
func (v *linkValues) register(fs *pflag.FlagSet, seed *uint64, plan *string, more ...func(*pflag.FlagSet)) {
	addGroup(fs, "Flags of the link", "links", func(fs *pflag.FlagSet) {
		for _, s := range setting.All(sim.LinkConfig{}) {
			if !strings.Contains(s.Name, ".") {
				settingFlag[sim.LinkConfig](fs, (*[]setting.Change)(v), s.Name, s.Name, s.Help)
			}
		}
		fs.Uint64Var(seed, "seed", 1, "seed of the link's random numbers")
		fs.StringVar(plan, "plan", "", "JSON file of the link")
		for _, add := range more {
			add(fs)
		}
	})
}

// apply sets the fields whose flags are given.
func (v linkValues) apply(c *sim.LinkConfig) error { return setting.Apply(c, v) }
