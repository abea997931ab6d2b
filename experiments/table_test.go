package experiments

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestTableIsWritten(t *testing.T) {
	table := Table{Name: "t", Title: "T", Columns: []string{"who", "wait, ms", "n", "share", "ok"}}
	table.Add("a, b", 1500*time.Microsecond, 1234567, 1.0/3, true)
	table.Add("none", time.Duration(0), 0, math.NaN(), false)
	var shown []string
	for _, r := range table.Rows {
		for _, v := range r {
			shown = append(shown, Text(v))
		}
	}
	if got, want := strings.Join(shown, "|"), "a, b|1.5|1,234,567|0.3333|yes|none|0|0|-|no"; got != want {
		t.Errorf("shown as %s, want %s", got, want)
	}
	var b strings.Builder
	if err := table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	want := "who,\"wait, ms\",n,share,ok\n\"a, b\",1.5,1234567,0.3333333333333333,true\nnone,0,0,,false\n"
	if b.String() != want {
		t.Errorf("CSV\n%swant\n%s", b.String(), want)
	}
	text, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	want = `"rows":[["a, b",1.5,1234567,0.3333333333333333,true],["none",0,0,null,false]]`
	if !strings.Contains(string(text), want) {
		t.Errorf("JSON %s, want %s", text, want)
	}
}
