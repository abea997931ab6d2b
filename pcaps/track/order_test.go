package track

import (
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
)

// TestNotInOrder: a file whose packets were shuffled has no retransmissions, as far as their
// identifications or times show.
func TestNotInOrder(t *testing.T) {
	type sent struct {
		at  float64
		seq int
		id  uint32
	}
	ordered := []sent{{100, 1, 101}, {110, 1001, 102}, {120, 2001, 103}, {330, 2001, 104}, {340, 3001, 105}, {350, 4001, 106}}
	for _, test := range []struct {
		name      string
		packets   []sent
		unordered bool
		episodes  int
	}{
		{"in order", ordered, false, 1},
		{"pieces in another order", []sent{{100, 5001, 120}, {110, 6001, 121}, {120, 1, 101}, {130, 1001, 102}, {140, 7001, 122}, {150, 2001, 103}}, true, 0},
		{"one packet captured late", []sent{{100, 1001, 102}, {110, 2001, 103}, {120, 3001, 104}, {150, 1, 101}, {160, 4001, 105}}, false, 0},
		{"the same packets again", []sent{{100, 1, 101}, {110, 1001, 102}, {120, 2001, 103}, {500, 1, 101}, {510, 1001, 102}}, false, 2},
		{"random identifications", []sent{{100, 1, 900}, {110, 1001, 40000}, {120, 2001, 13}, {500, 1, 7001}, {510, 1001, 20000}}, false, 2},
		{"times back and forth", []sent{{9000, 1, 0}, {1000, 1001, 0}, {9100, 2001, 0}, {1100, 3001, 0}, {9200, 4001, 0}, {9600, 4001, 0}}, true, 0},
		{"a clock that was set back", []sent{{9000, 1, 0}, {1000, 1001, 0}, {1100, 2001, 0}, {9200, 3001, 0}, {9600, 3001, 0}}, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{})
			l.open(0)
			end := 1
			for _, p := range test.packets {
				l.send(p.at, true, p.seq, 1000, 1, withID(p.id))
				end = max(end, p.seq+1000)
				l.send(p.at+1, false, 1, 0, end)
			}
			c := l.done(1)[0]
			all := lossesOf(c)
			text := strings.Join(all.Sentences(), " ")
			if c.Unordered != test.unordered || len(c.Flows[0].Episodes) != test.episodes || strings.Contains(text, "not in order") != test.unordered {
				t.Errorf("unordered %v, %d episodes, want %v, %d: %s", c.Unordered, len(c.Flows[0].Episodes), test.unordered, test.episodes, text)
			}
		})
	}
}

// TestYearsApart: behind years without it, the times of a connection count from its first packet.
func TestYearsApart(t *testing.T) {
	for since, want := range map[time.Duration]time.Duration{time.Hour: time.Hour + 50*time.Millisecond, 3 * 365 * 24 * time.Hour: 50 * time.Millisecond} {
		l := newLab(t, Config{})
		l.open(0, func(p *capture.Packet) { p.Since = since })
		if c := l.done(1)[0]; c.Last.Sub(c.Origin) != want {
			t.Errorf("%v behind packet 1: the last packet is at %v, want %v", since, c.Last.Sub(c.Origin), want)
		}
	}
}
