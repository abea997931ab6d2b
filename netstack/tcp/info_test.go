package tcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestInfoHasSeconds wants each duration of Info in seconds in JSON, under a name that says so.
func TestInfoHasSeconds(t *testing.T) {
	var info Info
	v, durations, wants := reflect.ValueOf(&info).Elem(), 0, 0
	for _, f := range reflect.VisibleFields(v.Type()) {
		if !f.Anonymous {
			wants++
		}
		if f.Type == reflect.TypeFor[time.Duration]() {
			v.FieldByIndex(f.Index).SetInt(int64(1500 * time.Microsecond))
			durations++
		}
	}
	text, err := json.Marshal(&info)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, value := range fields {
		if strings.HasSuffix(name, "_s") && value == 0.0015 {
			durations--
		}
	}
	if durations != 0 || len(fields) != wants {
		t.Errorf("%d durations are not in seconds, %d fields of %d: %s", durations, len(fields), wants, text)
	}
}
