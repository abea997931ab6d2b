package track

import (
	"errors"
	"io"
	"testing"
)

func TestGuard(t *testing.T) {
	var p *PanicError
	if err := Guard(func() error { panic("odd input") }); !errors.As(err, &p) || err.Error() != "panic: odd input" || len(p.Stack) == 0 {
		t.Errorf("%v", err)
	}
	if err := Guard(func() error { return io.EOF }); err != io.EOF {
		t.Errorf("Guard of an error = %v, want it as it is", err)
	}
}
