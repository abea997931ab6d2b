package track

import (
	"fmt"
	"runtime/debug"
)

// Guard calls f and turns a panic into a PanicError: damage that a parser does not expect must not
// end a run.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return f()
}

// PanicError is a panic while a capture or one of its connections was read.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
