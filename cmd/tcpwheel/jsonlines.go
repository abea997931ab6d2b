package main

import (
	"encoding/json"
	"io"
)

// newJSONLines returns what writes each record as a line of JSON, with <, > and & as they are.
func newJSONLines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// writeRecords writes each of all as a line of JSON.
func writeRecords[T any](w io.Writer, all []T) error {
	enc := newJSONLines(w)
	for _, x := range all {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}
