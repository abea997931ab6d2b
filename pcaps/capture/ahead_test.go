package capture

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"testing"
)

// TestAheadIsReader reads the public captures directly and ahead: the same packets, ICMP errors and
// end.
func TestAheadIsReader(t *testing.T) {
	names, _ := filepath.Glob("../../../shared/captures/*.pcap*")
	more, _ := filepath.Glob("../../../shared/captures/second/[hm]*")
	if names = append(names, more...); len(names) == 0 {
		t.Skip("no public captures")
	}
	for _, name := range names {
		var errors [2][]TooBig
		direct, err := Open(name)
		if err != nil {
			continue
		}
		behind, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		direct.OnTooBig(func(e TooBig) { errors[0] = append(errors[0], e) })
		a := NewAhead(behind, func(e TooBig) { errors[1] = append(errors[1], e) })
		for {
			p, err := direct.Next()
			q, err2 := a.Next()
			if err != nil || err2 != nil {
				if (err == nil) != (err2 == nil) || err.Error() != err2.Error() {
					t.Errorf("%s: ends with %v and %v", name, err, err2)
				}
				break
			}
			if !bytes.Equal(p.Payload, q.Payload) {
				t.Fatalf("%s: packet %d: payloads differ", name, p.Number)
			}
			x, y := *p, *q
			if x.Payload, y.Payload = nil, nil; !reflect.DeepEqual(x, y) {
				t.Fatalf("%s: packet %+v, ahead %+v", name, x, y)
			}
			if len(errors[0]) != len(errors[1]) {
				t.Fatalf("%s: before packet %d: %d ICMP errors and %d", name, p.Number, len(errors[0]), len(errors[1]))
			}
		}
		a.Close()
		if !reflect.DeepEqual(direct.Stats(), behind.Stats()) || !reflect.DeepEqual(errors[0], errors[1]) {
			t.Errorf("%s: %+v, ahead %+v", name, direct.Stats(), behind.Stats())
		}
		direct.Close()
		behind.Close()
	}
}

// TestAheadCloses closes before the end, and after it.
func TestAheadCloses(t *testing.T) {
	file := pcapOfHello(101, hello())
	record := file[24:]
	for range 10_000 {
		file = append(file, record...)
	}
	for _, take := range []int{0, 1, 300, 20_000} {
		r, err := NewReader(bytes.NewReader(file), "many")
		if err != nil {
			t.Fatal(err)
		}
		a := NewAhead(r, nil)
		n := 0
		for ; n < take && err == nil; n++ {
			_, err = a.Next()
		}
		if _, again := a.Next(); n == 20_000 || err != nil && (!errors.Is(err, io.EOF) || again != err || n != 10_002) {
			t.Errorf("%d packets and %v, then %v", n, err, again)
		}
		a.Close()
	}
}
