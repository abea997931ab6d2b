package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tcpwheel/experiments/spelling"
)

var (
	// refused is an error that quotes a word and lists what is accepted.
	refused = regexp.MustCompile(`"([^"]+)"[,:] (?:want(?: one of| some of)?|there (?:is|are)) (.*)`)
	// refusedKey is one that lists the keys of a plan, or the interfaces.
	refusedKey = regexp.MustCompile(`"?([^\s"]+)"?: no such (?:key, want one of|interface; there (?:is|are)) (.*)`)
)

// suggestion returns the accepted word that is nearest to the refused one, if an error has both.
func suggestion(err error) (string, bool) {
	text := err.Error()
	for _, form := range []*regexp.Regexp{refused, refusedKey} {
		m := form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		word, _, _ := strings.Cut(m[1], ":") // of a model with parameters, its name
		listed := strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(` ,;:"[]|`, r) })
		return spelling.Nearest(word, listed)
	}
	return "", false
}

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
