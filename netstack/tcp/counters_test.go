package tcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unsafe"
)

// numbered returns counters with the values 1, 2, 3 …, in field order, times by.
func numbered(by uint64) (c Counters) {
	v := reflect.ValueOf(&c).Elem()
	n := uint64(0)
	for i := range v.NumField() {
		for j := range v.Field(i).NumField() {
			n++
			v.Field(i).Field(j).SetUint(n * by)
		}
	}
	return c
}

// TestCountersEach checks that each field is listed once, in order, by its name.
func TestCountersEach(t *testing.T) {
	c := numbered(1)
	typ := reflect.TypeFor[Counters]()
	n := uint64(0)
	c.Each(func(name string, v uint64) {
		n++
		if _, ok := typ.FieldByName(name); !ok || v != n {
			t.Errorf("counter %d is %s = %d, want a field and %d", n, name, v, n)
		}
	})
	if n != uint64(unsafe.Sizeof(c)/8) {
		t.Errorf("Each has %d counters, want %d", n, unsafe.Sizeof(c)/8)
	}
}

// TestCountersMIB checks that the counters of RFC 4022 §4 exist.
func TestCountersMIB(t *testing.T) {
	got := map[string]bool{}
	(&Counters{}).Each(func(name string, _ uint64) { got[name] = true })
	for _, name := range []string{"ActiveOpens", "PassiveOpens", "AttemptFails", "EstabResets", "CurrEstab", "InSegs",
		"OutSegs", "RetransSegs", "InErrs", "OutRsts"} {
		if !got[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestCountersAdd(t *testing.T) {
	c, o := numbered(1), numbered(10)
	c.Add(&o)
	if want := numbered(11); c != want || o != numbered(10) {
		t.Errorf("Add = %+v, want %+v", c, want)
	}
	if n := testing.AllocsPerRun(1000, func() { c.Add(&o) }); n != 0 {
		t.Errorf("Add allocates %v times, want 0", n)
	}
}

func TestCountersJSON(t *testing.T) {
	c := numbered(3)
	b, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte(`{"ActiveOpens":3,"PassiveOpens":6,`); !bytes.HasPrefix(b, want) {
		t.Errorf("%s, want %s first", b, want)
	}
	var back Counters
	if err := json.Unmarshal(b, &back); err != nil || back != c {
		t.Errorf("%s came back as %+v, %v", b, back, err)
	}
}
