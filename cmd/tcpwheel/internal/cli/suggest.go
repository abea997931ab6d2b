package cli

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// nearest returns the candidate that a word was probably meant to be: the first with the fewest
// letters wrong, missing, added or exchanged with a neighbour, and with a third of them at most.
// Words and candidates that begin with no letter are values, not names.
func nearest(word string, candidates []string) (best string, ok bool) {
	if !isName(word) {
		return "", false
	}
	least := max(1, utf8.RuneCountInString(word)/3) + 1
	for _, c := range candidates {
		if d := editDistance(word, c); isName(c) && d > 0 && d < least {
			best, least, ok = c, d, true
		}
	}
	return best, ok
}

// isName reports whether a word begins with a letter and has two letters at least.
func isName(word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	return unicode.IsLetter(first) && len(word) > size
}

// editDistance returns the number of edits that make b of a: insertions, deletions, substitutions,
// and exchanges of two neighbours (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}

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
		return nearest(word, listed)
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
	name, ok := nearest(m[1], names)
	return "--" + name, ok
}
