package script

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with a script.
type Error struct {
	File        string
	Pos         Pos
	Unsupported bool // packetdrill may know it, this package does not
	Msg         string
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Pos.Line, e.Pos.Column, e.Msg)
}

// ErrorList is what Parse found, in the order of the file: at most maxErrors. It is never empty.
type ErrorList []*Error

// Error returns one line for each.
func (l ErrorList) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the single ones.
func (l ErrorList) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

// What Parse takes at most, so that neither memory nor the stack grow with a hostile file.
const (
	maxSize   = 1 << 20 // octets of a file
	maxErrors = 10      // reported, then it stops
	maxNodes  = 256     // operators and brackets of an expression
)
