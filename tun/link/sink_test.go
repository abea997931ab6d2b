package link

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSink: the file grows at flush only, and an error is reported once, with the file's name.
func TestSink(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	s, err := createSink(name)
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("one\n"))
	if b, _ := os.ReadFile(name); len(b) != 0 {
		t.Errorf("before flush: %q", b)
	}
	s.flush()
	s.Write([]byte("two\n"))
	if b, _ := os.ReadFile(name); string(b) != "one\n" {
		t.Errorf("after flush: %q", b)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(name); string(b) != "one\ntwo\n" {
		t.Errorf("after close: %q", b)
	}

	s = &sink{file: s.file} // already closed
	s.Write([]byte("x"))
	s.flush()
	s.Write([]byte("y"))
	s.flush()
	if s.err == nil || !strings.Contains(s.err.Error(), name) || string(s.buf) != "x" {
		t.Errorf("error %v, %q left", s.err, s.buf)
	}
}

func TestLateness(t *testing.T) {
	for c := range 8 * 60 {
		if least(c) >= least(c+1) || class(least(c)) != c || class(least(c+1)-1) != c {
			t.Fatalf("class %d is [%d, %d), and its bounds are of classes %d and %d", c, least(c), least(c+1), class(least(c)), class(least(c+1)-1))
		}
	}
	var l lateness
	if l.quantile(0.5) != 0 {
		t.Error("none are late")
	}
	for i := range 1000 {
		l.add(time.Duration(i+1) * time.Microsecond)
	}
	for _, test := range []struct {
		q    float64
		want time.Duration
	}{{0.5, 500 * time.Microsecond}, {0.99, 990 * time.Microsecond}, {1, time.Millisecond}} {
		if got := l.quantile(test.q); got < test.want || got > test.want*9/8+time.Microsecond {
			t.Errorf("quantile %v is %v, want %v or up to an eighth more", test.q, got, test.want)
		}
	}
	l.add(-time.Second)
	if l.max != time.Millisecond {
		t.Errorf("max %v", l.max)
	}
}
