package script

import (
	"fmt"
	"strings"
)

// Error is a fault of a script.
type Error struct {
	File string
	Pos  Pos
	Msg  string
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
