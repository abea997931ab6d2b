package spelling

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"per-segment", "rfc6298", "bsd", "linux", "a", "100Mbit"}
	for word, want := range map[string]string{
		"per-segmnt": "per-segment", "persegment": "per-segment", "bds": "bsd", "Linus": "linux", "rfc6289": "rfc6298",
		"bsd": "", "b": "", "": "", "windows": "", "5ms": "", "200Mbps": "", "é": "",
	} {
		if got, ok := Nearest(word, names); got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", word, got, ok, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"ABC", "abc", 0}, {"abc", "acb", 1}, {"abc",
			"abd", 1},
		{"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"ü", "u", 1},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
