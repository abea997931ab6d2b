package script

import (
	"fmt"
	"strings"
)

// Error is a fault of a script.
type Error struct {
	File        string
	Pos         Pos
	Unsupported bool // packetdrill may support it
	Msg         string
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Column, e.Msg)
}

// ErrorList is the faults of a script, in the order of the file: 1 to 10.
type ErrorList []*Error

// Error returns one line per fault.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find single faults.
func (l ErrorList) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// Limits of Parse, so that a hostile file exhausts neither memory nor the stack.
const (
	maxSize   = 1 << 20 // bytes of a file
	maxErrors = 10      // reported faults
	maxNodes  = 256     // operators and brackets of an expression
)
