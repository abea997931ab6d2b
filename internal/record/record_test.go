package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

type color uint8

func (c color) MarshalText() ([]byte, error) { return []byte([]string{"red", "green"}[c]), nil }
func (color) Keys() []any                    { return KeysTo[color](2) }

type inner struct {
	Min  float64 `json:"min_s"`
	Best string  `json:"best,omitempty"`
}

type thing struct {
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Packet int64          `json:"ack_packet,omitempty" head:"packet" help:"of the acknowledgement"`
	D      float64        `json:"d_s" head:"D" help:"detection"`
	At     float64        `json:"at_s"`
	Needed string         `json:"spurious" head:"needed" cell:"yes=no no=yes unknown=?"`
	RTT    *inner         `json:"rtt,omitempty"`
	Colors map[color]int  `json:"colors,omitempty" help:"by color"`
	List   []int64        `json:"list"`
	Parts  []inner        `json:"parts"`
	Words  []string       `json:"words,omitempty"`
	Color  color          `json:"color"`
	Size   int            `json:"size" unit:"bits"`
	Shown  *time.Duration `json:"-" head:"shown"`
	//lint:ignore U1000 fields that are not exported are passed over
	hidden string
}

type double struct {
	thing
	Index int `json:"flow"`
	Again thing
}

var aThing = thing{File: "f", D: 0.0631, At: 1.5, Needed: "no", Colors: map[color]int{1: 3}, List: []int64{4, 5}, Words: []string{"a", "b, c"}, Color: 1, Size: 7}

func TestFields(t *testing.T) {
	const want = "file ack_packet d_s at_s spurious rtt_min_s rtt_best colors_red colors_green list words color size"
	if got := strings.Join(Header[thing](), " "); got != want {
		t.Errorf("columns %s\nwant    %s", got, want)
	}
	twice := Header[double]()
	if len(twice) != 2*13+1 || twice[14] != "flow_file" || twice[19] != "flow_rtt_min_s" {
		t.Errorf("columns of an embedded record and another one: %v", twice)
	}
	fields := Fields(reflect.TypeFor[thing]())
	optional := []string{}
	for _, f := range fields {
		if f.Optional {
			optional = append(optional, f.Name)
		}
	}
	if want := []string{"ack_packet", "rtt_min_s", "rtt_best"}; !slices.Equal(optional, want) {
		t.Errorf("optional: %v, want %v", optional, want)
	}
	if fields[3].Head != "at" || fields[3].Unit() != "s" || fields[12].Unit() != "bits" {
		t.Errorf("at_s: head %q, unit %q; size: unit %q", fields[3].Head, fields[3].Unit(), fields[12].Unit())
	}
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := WriteCSV(&b, slices.Values([]thing{aThing})); err != nil {
		t.Fatal(err)
	}
	want := strings.Join(Header[thing](), ",") + "\n" + `f,0,0.0631,1.5,no,,,0,3,4 5,"a; b, c",green,7` + "\n"
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}

func TestLayout(t *testing.T) {
	l := NewLayout[thing]("%-5file|%7ack_packet %8d_s %6.2at_s%-8spurious%5Shown, %color")
	if got, want := l.Head(), "file | packet        D     atneeded  shown, color\n"; got != want {
		t.Errorf("head\n%q, want\n%q", got, want)
	}
	if got, want := l.Row(&aThing), "f    |      -  63.1 ms   1.50yes         -, green\n"; got != want {
		t.Errorf("row\n%q, want\n%q", got, want)
	}
	other := aThing
	span := 12 * time.Second
	other.Packet, other.Needed, other.Shown = 9, "unknown", &span
	if got, want := l.Table([]thing{other}), l.Head()+"f    |      9  63.1 ms   1.50?       12.0 s, green\n"; got != want {
		t.Errorf("table\n%q, want\n%q", got, want)
	}
}

// TestLayoutOfNumbers checks widths of the widest cell, headings of two lines, three digits, parts
// in percent, and fields behind an embedded pointer.
func TestLayoutOfNumbers(t *testing.T) {
	type figures struct {
		Ns    float64 `json:"ns_per_op" head:"ns\nper op" cell:"digits 0=none"`
		Share float64 `json:"share" head:"share, %" cell:"%"`
	}
	type result struct {
		Name string `json:"name"`
		*figures
		Keys map[string]int `json:"keys"`
	}
	l := NewLayout[result]("%-*name %6ns_per_op%9.2share|")
	all := []result{{"a", &figures{0.1234, 0.5}, nil}, {"longer", &figures{0, -1}, nil}, {"no", nil, nil}}
	want := "           ns         |\n" +
		"name   per op share, %|\n" +
		"a        0.12    50.00|\n" +
		"longer   none  -100.00|\n" +
		"no          -        -|\n"
	if got := l.Table(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Header[result](); !slices.Equal(got, []string{"name", "ns_per_op", "share"}) {
		t.Errorf("columns %v: a map whose keys are not known is none", got)
	}
	for x, want := range map[float64]string{0: "0", 9.994: "9.99", -12.34: "-12.3", 1234.5: "1234"} {
		if got := Digits(x); got != want {
			t.Errorf("Digits(%v) = %q, want %q", x, got, want)
		}
	}
}

// TestColumns has columns that only the program knows as it runs, behind those of a layout.
func TestColumns(t *testing.T) {
	type row struct {
		Name  string `json:"-" head:"name"`
		Times []Cell `json:"-"`
	}
	of := reflect.TypeFor[row]()
	all := []row{{"a", []Cell{SpanCell(time.Second, true), {}, {Text: "none", Aside: true}}}}
	times := Columns(of, "Times", []string{"exact", "bsd", "linux"})
	l := NewLayout[row]("%-6Name").With(7, times[:1]).With(6, times[1:])
	if got, want := l.Table(all), "name    exact   bsd linux\na      1.00 s     -  none\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c := times[0].Cell(reflect.ValueOf(all[0])); !c.Measure || c.Words || c.Value != "1" {
		t.Errorf("a cell of the first column is %+v", c)
	}
	if n := len(Select(of, "")); n != 1 {
		t.Errorf("%d columns without them, want 1", n)
	}
	defer func() {
		if recover() == nil {
			t.Error("a field without cells: no panic")
		}
	}()
	Columns(of, "Name", []string{"a"})
}

func TestSelect(t *testing.T) {
	names := func(fields []Field) (all string) {
		for _, f := range fields {
			all += f.Name + " "
		}
		return all
	}
	of := reflect.TypeFor[thing]()
	if got := names(Select(of, "d_s at_s.3 file")); got != "d_s at_s file " {
		t.Errorf("by name: %s", got)
	}
	if got := names(Select(of, "-file -list")); strings.Contains(got, "file") || !strings.HasSuffix(got, "size Shown ") {
		t.Errorf("all but two: %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a field that is not there: no panic")
		}
	}()
	Select(of, "nothing")
}

func TestTerms(t *testing.T) {
	got := Terms(reflect.TypeFor[thing]())
	if want := []Term{{"ack_packet", "", "of the acknowledgement"}, {"d_s", "s", "detection"}, {"colors_*", "", "by color"}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSpanIsTheNearest takes spans of both signs to seconds and back.
func TestSpanIsTheNearest(t *testing.T) {
	for _, want := range []time.Duration{0, 1, -1, 6_001_123_457, -6_001_123_457, 499_999_999, -499_999_999} {
		if got := Span(*Seconds(want)); got != want {
			t.Errorf("%v became %v", want, got)
		}
	}
}

// TestMarshal writes what encoding/json writes, but for what is unknown, spans and instants.
func TestMarshal(t *testing.T) {
	type outer struct {
		*inner
		At     wheel.Time    `json:"at"`
		D      time.Duration `json:"d_s"`
		P      time.Duration `json:"p_s" known:"closed D"`
		File   string        `json:"file,omitempty"`
		Kept   string        `json:"-"`
		Color  color         `json:"color"`
		closed bool
	}
	x := outer{inner: &inner{Min: 1e-7}, At: 1, D: 1500 * time.Millisecond, P: 0, Color: 1}
	for _, test := range []struct {
		closed     bool
		json, text string
	}{
		{false, `{"min_s":1e-7,"at":"1970-01-01T00:00:00.000000001Z","d_s":1.5,"color":"green"}`, "1.500 -"},
		{true, `{"min_s":1e-7,"at":"1970-01-01T00:00:00.000000001Z","d_s":1.5,"p_s":0,"color":"green"}`, "1.500 0"},
	} {
		x.closed = test.closed
		got, err := Marshal(&x)
		if text := strings.ReplaceAll(string(got), "\n", ""); err != nil || text != test.json {
			t.Errorf("%s, %v, want %s", text, err, test.json)
		}
		if text := strings.TrimSpace(NewLayout[outer]("%.3d_s %p_s").Row(&x)); text != test.text {
			t.Errorf("row %q, want %q", text, test.text)
		}
	}
}
