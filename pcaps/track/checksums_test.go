package track

import (
	"testing"

	"tcpwheel/pcaps/capture"
)

// TestBlankedPayload blanks payloads but not their checksums, as in published captures. A damaged
// packet still does not count.
func TestBlankedPayload(t *testing.T) {
	l := newLab(t, Config{})
	wrong := func(p *packet) { p.Problems |= capture.BadChecksum }
	blanked := func(p *packet) { p.Payload = make([]byte, p.Len) }
	l.open(0)
	for i := range 4 {
		at := 100 + 100*float64(i)
		l.send(at, true, 1+12*i, 12, 1, wrong, blanked)
		l.send(at+50, false, 1, 0, 13+12*i)
	}
	l.send(500, true, 49, 5, 1, wrong, func(p *packet) { p.Payload = []byte("hello") })
	c := l.wantClean(1)[0]
	if f := &c.Flows[0]; f.Bytes != 48 || c.BadChecksums != 1 {
		t.Errorf("%d bytes, %d damaged, want 48 and 1", f.Bytes, c.BadChecksums)
	}
}
