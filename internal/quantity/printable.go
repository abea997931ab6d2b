package quantity

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text that others chose, such as the name of a file, with its control
// characters and invalid bytes as Go escapes them: a terminal obeys none, and a line stays one.
// Other texts are returned as they are.
func Printable(text string) string {
	plain := 0
	for plain < len(text) && ' ' <= text[plain] && text[plain] <= '~' {
		plain++
	}
	if plain == len(text) || utf8.ValidString(text) && strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 || unprintable(r) {
			quoted := strconv.Quote(text[:n])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}

// unprintable is true for control and format characters, such as a change of direction.
func unprintable(r rune) bool { return unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' }
