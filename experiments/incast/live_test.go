package incast

import (
	"testing"

	"tcpwheel/experiments/internal/studytest"
)

// TestServiceTimes checks that the kernel's servers answer after the request, and each of them.
func TestServiceTimes(t *testing.T) {
	out := studytest.Live(t, Study, "kernel", "")
	rows := out.Tables[0].Rows
	if len(rows) != 3 {
		t.Fatalf("%d rows, want 3", len(rows))
	}
	for _, row := range rows {
		if least, ok := row[1].(float64); !ok || least < 0 || least > 1000 {
			t.Errorf("%v servers: least service time %v ms, want one above 0", row[0], row[1])
		}
	}
}
