package cli

import (
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"tcpwheel/experiments/spelling"
)

// unknownFlag is pflag's error for a flag that a command does not have.
var unknownFlag = regexp.MustCompile(`^unknown flag: --([^=]+)`)

// suggestFlag returns the flag that is nearest to the unknown one.
func suggestFlag(err error, flags *pflag.FlagSet) (string, bool) {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	name, ok := spelling.Nearest(m[1], names)
	return "--" + name, ok
}
