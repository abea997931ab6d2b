package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestColumnsAreNarrow(t *testing.T) {
	long := "a study whose name is a sentence that goes on for longer than any column should be wide"
	for _, c := range []struct {
		head  []string
		rows  [][]string
		flush []bool
	}{
		{[]string{"a"}, nil, nil},
		{[]string{"a", "b"}, [][]string{{"x", "y"}, {"", ""}}, nil},
		{[]string{"id", "question"}, [][]string{{"E1", long}, {"E2", long + " " + long}}, nil},
		{strings.Fields(strings.Repeat("granularity ", 9)), [][]string{strings.Fields(strings.Repeat("1,234,567 ", 9))}, make([]bool, 9)},
		{[]string{long, "n", long}, [][]string{{long, "3", "x"}}, []bool{false, true, false}},
	} {
		var b bytes.Buffer
		if err := writeColumns(&b, c.head, c.rows, c.flush); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for line := range strings.Lines(text) {
			if n := width(strings.TrimSuffix(line, "\n")); n > terminalColumns {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		have := map[string]int{}
		for _, word := range strings.Fields(text) {
			have[word]++
		}
		for _, r := range append(c.rows, c.head) {
			for _, cell := range r {
				for _, word := range strings.Fields(cell) {
					if have[word] == 0 {
						t.Errorf("%q is not in\n%s", word, text)
					}
				}
			}
		}
	}
}

func TestColumnsAreFlush(t *testing.T) {
	var b bytes.Buffer
	if err := writeColumns(&b, []string{"who", "mean wait, ms"}, [][]string{{"4.4BSD", "1250"}, {"exact", "9"}}, []bool{false, true}); err != nil {
		t.Fatal(err)
	}
	if want := "who     mean wait, ms\n4.4BSD           1250\nexact               9\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestProse(t *testing.T) {
	var b bytes.Buffer
	long := strings.Repeat("word ", 30)
	writeProse(&b, "# Title\n\n"+long+"\n\n- "+long+"\n- two\n\n| a | table |\n")
	text := b.String()
	for line := range strings.Lines(text) {
		if n := width(strings.TrimSuffix(line, "\n")); n > terminalColumns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.HasPrefix(text, "# Title\n\nword ") || !strings.Contains(text, "\n- word") || !strings.Contains(text, "\n  word") || !strings.HasSuffix(text, "\n- two\n\n| a | table |\n\n") {
		t.Errorf("got\n%s", text)
	}
}
