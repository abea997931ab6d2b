package cli

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"tcpwheel/experiments/spelling"
)

// suggestFlag returns the flag that is nearest to the unknown one.
func suggestFlag(err error, flags *pflag.FlagSet) (string, bool) {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return "", false
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	name, ok := spelling.Nearest(unknown.GetSpecifiedName(), names)
	return "--" + name, ok
}
