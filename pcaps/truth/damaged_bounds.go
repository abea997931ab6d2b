package truth

import (
	"fmt"
	"math"
	"strings"
)

// mostInvented is the share of invented episodes that any damage may have: one in so many segments.
const mostInvented = 1000

// excuse is by how much a damage exceeds the bounds: in percent of the kept episodes (three), and
// of the captures (two). docs/accuracy.md explains each. An excuse may only shrink.
type excuse struct{ kinds, needs, times, lost, verdicts float64 }

// excuses are by kind of damage. All others have none.
var excuses = map[string]excuse{
	// Fewer packets, so ACKs that released or proved something are missing.
	"drop":   {kinds: 5, needs: 1, times: 1, lost: 1, verdicts: 4},
	"burst":  {kinds: 3, needs: 1, times: 1, verdicts: 3},
	"noacks": {kinds: 8, needs: 3, times: 10, lost: 1},
	"oneway": {kinds: 18, times: 1},
	"begin":  {kinds: 4, needs: 11, times: 4, verdicts: 3},
	"end":    {verdicts: 4},
	"cut":    {kinds: 3, needs: 3, times: 5, lost: 9, verdicts: 4},

	// Without identifications and timestamps, duplicate ACKs are the same bytes as their copies.
	"twice": {kinds: 1},

	// A connection that the capture has in part may lack the packet that identifies its twin.
	"nat": {lost: 1},
	"tso": {needs: 1, times: 1, lost: 3},

	// What the clock leaves open is undecided, as far as the capture shows that it does: directions
	// 0.1 ms apart do not, and the first step ahead of a clock does not.
	"step":       {kinds: 1, needs: 1, times: 1, verdicts: 3},
	"resolution": {kinds: 1, needs: 1, times: 1, lost: 1, verdicts: 4},
	"apart":      {kinds: 2, needs: 7, times: 2, lost: 1, verdicts: 3},

	// Which transmission arrived is read from the echoes.
	"echoes":   {kinds: 5, needs: 2, times: 3, lost: 12},
	"nostamps": {kinds: 2, needs: 2, times: 6, lost: 7, verdicts: 4},
	"ticks":    {kinds: 2, needs: 1, times: 5, lost: 9, verdicts: 4},
	"ids":      {times: 1, verdicts: 3},
}

// Check returns an error if the damage moves more than it may: see docs/accuracy.md.
func (row *DamageRow) Check() error {
	name, _, _ := strings.Cut(row.Damage, ":")
	e := excuses[name]
	for _, b := range []struct {
		what    string
		n       int
		percent float64
		of      int64
	}{
		{"episodes invented", row.Invented, 100.0 / mostInvented, row.Segments},
		{"kinds changed", row.Kinds, e.kinds, int64(row.Kept)},
		{"verdicts on need changed", row.Needs, e.needs, int64(row.Kept)},
		{"times changed", row.Times, e.times, int64(row.Kept)},
		{"captures with more time lost", row.Grew, e.lost, int64(row.Captures)},
		{"verdicts of replay flipped", row.Flipped, e.verdicts / 10, int64(row.Captures)},
		{"refusals of replay decided", row.Decided, e.verdicts, int64(row.Captures)},
		{"panics", row.Panics, 0, 0},
	} {
		if most := int(math.Ceil(b.percent * float64(b.of) / 100)); b.n > most {
			return fmt.Errorf("%s: %d %s, want %d at most", row.Damage, b.n, b.what, most)
		}
	}
	return nil
}
