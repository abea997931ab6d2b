package experiments

import (
	"reflect"
	"testing"
	"time"
)

// TestCellsHaveSeconds writes durations of every size and reads them back to the nanosecond.
func TestCellsHaveSeconds(t *testing.T) {
	type cell struct {
		P99  time.Duration      `json:"p99_s"`
		None time.Duration      `json:"none_s,omitempty"`
		By   [][2]time.Duration `json:"by_s"`
		Text string             `json:"text"`
		Last time.Duration      `json:"last_s"`
	}
	c := cell{P99: 7 * time.Millisecond, Text: `"a_s":12`, Last: -1, By: [][2]time.Duration{
		{0, 1}, {999_999_999, time.Second}, {90 * 24 * time.Hour, 7_775_999_999_999_999}}}
	text, err := MarshalCell(c)
	const want = `{"p99_s":0.007,"by_s":[[0,0.000000001],[0.999999999,1],[7776000,7775999.999999999]],` +
		`"text":"\"a_s\":12","last_s":-0.000000001}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v\nwant %s", text, err, want)
	}
	var back cell
	if err := UnmarshalCell(text, &back); err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("%+v, %v, want %+v", back, err, c)
	}
}
