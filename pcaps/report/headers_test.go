package report

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"testing"

	"tcpwheel/pcaps/capture"
)

// TestPageShowsHeaders has the headers of each listed and drawn retransmission under the pointer,
// escaped.
func TestPageShowsHeaders(t *testing.T) {
	b := captured(t, 1, 200_000, lossy)
	p := NewPage(Limits{})
	s := p.Begin("lossy.pcapng")
	read(t, b, s, nil)
	numbers := s.Packets()
	if len(numbers) == 0 || len(s.events) == 0 || !slices.Contains(numbers, s.events[0].DetectedPacket) {
		t.Fatalf("packets %v of %d episodes", numbers, len(s.events))
	}
	r, err := capture.NewReader(bytes.NewReader(b), "lossy.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	headers, err := r.Describe(numbers...)
	if err != nil {
		t.Fatal(err)
	}
	for n := range headers {
		headers[n] = append(headers[n], `"><script>`)
	}
	s.Describe(headers)
	page := written(t, p)
	for _, n := range numbers {
		text := html.EscapeString(strings.Join(headers[n], "\n"))
		if !strings.HasPrefix(text, "IPv4: ") || !strings.Contains(text, "TCP: src port ") || !strings.Contains(page, "\n"+text+"</title>") {
			t.Errorf("packet %d is not under the pointer as %q", n, text)
		}
	}
	for _, e := range s.events {
		text := html.EscapeString(strings.Join(headers[e.DetectedPacket], "\n"))
		if !strings.Contains(page, `<td title="`+text+`">`) {
			t.Errorf("packet %d is not in the table as %q", e.DetectedPacket, text)
		}
	}
}

// TestPacketsAreBounded has more retransmissions than headers that a page shows.
func TestPacketsAreBounded(t *testing.T) {
	s := NewPage(Limits{Rows: 10}).Begin("lossy.pcapng")
	read(t, captured(t, 20, 500_000, "bernoulli:0.2"), s, nil)
	if n := len(s.Packets()); n != maxDescribed {
		t.Errorf("%d packets, want %d", n, maxDescribed)
	}
}
