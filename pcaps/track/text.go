package track

import (
	"time"

	"tcpwheel/internal/record"
)

// SpanText returns a span with three digits and its unit, as "631 ms". No time is "0".
func SpanText(d time.Duration) string { return record.SpanText(d) }
