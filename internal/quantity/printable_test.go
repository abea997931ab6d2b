package quantity

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"Messung 1 »ä«\\n.pcap":    "Messung 1 »ä«\\n.pcap",
		"a\x1b]0;owned\x07b.pcap":  `a\x1b]0;owned\ab.pcap`,
		"a\ntcpwheel: error: b":    `a\ntcpwheel: error: b`,
		"c1 \u009b31m, \xff\xfe é": `c1 \u009b31m, \xff\xfe é`,
		"gpj.\u202efpac":           `gpj.\u202efpac`,
		"\uFFFD":                   "\uFFFD",
	} {
		if got := Printable(text); got != want {
			t.Errorf("Printable(%q) = %s, want %s", text, got, want)
		}
	}
}
