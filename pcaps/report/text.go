package report

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"tcpwheel/pcaps/figure"
)

// BytesText returns a number of bytes with three digits and a unit.
func BytesText(n int64) string {
	x := float64(n)
	for _, unit := range []string{"octets", "kB", "MB", "GB"} {
		if x < 1000 || unit == "GB" {
			switch {
			case n == 1:
				return "1 byte"
			case unit == "octets":
				return strconv.FormatInt(n, 10) + " bytes"
			}
			return strconv.FormatFloat(x, 'g', max(3, len(strconv.Itoa(int(x)))), 64) + " " + unit
		}
		x /= 1000
	}
	return ""
}

// plainTick returns the label of a tick without trailing zeros.
func plainTick(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(v, 'g', 10, 64)
}

// percentTick is plainTick for percent.
func percentTick(v float64) string { return plainTick(v) + " %" }

// spanTick is plainTick for seconds, with a unit.
func spanTick(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 0.9995e-3:
		return plainTick(figure.Round(s*1e6)) + " µs"
	case s < 0.9995:
		return plainTick(figure.Round(s*1e3)) + " ms"
	}
	return plainTick(figure.Round(s)) + " s"
}

// table is the data of a figure as CSV.
type table struct {
	b strings.Builder
	w *csv.Writer
}

func (t *table) row(fields ...string) {
	if t.w == nil {
		t.w = csv.NewWriter(&t.b)
	}
	t.w.Write(fields)
}

// text returns the rows so far.
func (t *table) text() string {
	t.w.Flush()
	return t.b.String()
}

// nine formats a span in seconds with nine digits.
func nine(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', 9, 64) }

// micro formats seconds to the microsecond.
func micro(s float64) string { return strconv.FormatFloat(s, 'f', 6, 64) }
