// Package spelling finds the name that a wrong word was probably meant to be, for hints of the
// command line and of the language of studies.
package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Nearest returns the candidate that a word was probably meant to be: the first with the fewest
// letters wrong, missing, added or exchanged with a neighbour, and with a third of them at most.
// Words and candidates that begin with no letter are values, not names.
func Nearest(word string, candidates []string) (best string, ok bool) {
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
