package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"tcpwheel/pcaps/corpus"
	"tcpwheel/pcaps/track"
)

type thingRow struct {
	Type   string             `json:"type"`
	File   string             `json:"file"`
	Path   string             `json:"path,omitempty"`
	First  string             `json:"first"`
	Packet int64              `json:"ack_packet,omitempty"`
	Count  int64              `json:"copies,omitempty"`
	RTT    *nested            `json:"rtt,omitempty"`
	Flag   *bool              `json:"sack,omitempty"`
	Kinds  map[track.Kind]int `json:"episodes,omitempty"`
	List   []int64            `json:"packets"`
	Port   uint16             `json:"port"`
}

type nested struct {
	Min  float64 `json:"min_s"`
	Best string  `json:"best,omitempty"`
}

// TestSchema checks names, types and NULLs of columns.
func TestSchema(t *testing.T) {
	got := new(Format).Schema(corpus.NewTable[thingRow]("things"))
	for _, want := range []string{
		"file STRING\n", "path STRING NULL\n", "first TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)\n", "ack_packet INT(64,true) NULL\n",
		"copies INT(64,true)\n", "rtt_min_s DOUBLE NULL\n", "rtt_best STRING NULL\n", "sack BOOLEAN NULL\n", "episodes_rto INT(64,true)\n",
		"packets ", "port INT(32,false)\n",
	} {
		if !strings.Contains("\n"+got, "\n"+want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "type ") {
		t.Errorf("type is a column in\n%s", got)
	}
}

// TestParquetResetForgetsPaths shows why each part has a writer of its own: after Reset, a writer
// of parquet-go v0.32.0 leaves path_in_schema empty.
func TestParquetResetForgetsPaths(t *testing.T) {
	type thing struct{ A, B string }
	var body bytes.Buffer
	w := parquet.NewGenericWriter[thing](&body)
	for i, want := range []string{"A", ""} {
		body.Reset()
		if w.Reset(&body); i == 0 {
			w = parquet.NewGenericWriter[thing](&body)
		}
		if _, err := w.Write([]thing{{"a", "b"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(body.Bytes()), int64(body.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Metadata().RowGroups[0].Columns[0].MetaData.PathInSchema; len(got) != 1 || got[0] != want {
			t.Errorf("file %d: path %q, want %q: if it is mended, reuse writers", i, got, want)
		}
	}
}
