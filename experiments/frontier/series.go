package frontier

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// series is the round trips of one connection or prober.
type series struct {
	stratum, site, source string
	trips                 []trip
}

// trip is a round trip that begins so long after the end of the one before.
type trip struct{ idle, rtt time.Duration }

// allSeries returns the series of roundtrips/series.txt.gz.
var allSeries = sync.OnceValues(func() ([]series, error) {
	text, err := files.ReadFile("roundtrips/series.txt.gz")
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return readSeries(bufio.NewScanner(z))
})

// readSeries reads series in the format that roundtrips/README.md describes.
func readSeries(in *bufio.Scanner) (all []series, err error) {
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("series, line %d: %d fields, want 5", n, len(f))
		}
		unit, err := time.ParseDuration(f[3])
		s := series{stratum: f[0], site: f[1], source: f[2]}
		for word := range strings.FieldsSeq(f[4]) {
			idle, rtt, found := strings.Cut(word, "+")
			if !found {
				idle, rtt = "0", word
			}
			a, bad := strconv.ParseUint(idle, 10, 31)
			b, worse := strconv.ParseUint(rtt, 10, 31)
			if err != nil || bad != nil || worse != nil || b == 0 {
				return nil, fmt.Errorf("series, line %d: %q in units of %q: want a round trip, or IDLE+TRIP", n, word, f[3])
			}
			s.trips = append(s.trips, trip{time.Duration(a) * unit, time.Duration(b) * unit})
		}
		all = append(all, s)
	}
	return all, in.Err()
}
