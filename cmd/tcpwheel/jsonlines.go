package main

import (
	"encoding/json"
	"io"
)

// writeRecords writes each of all as a line of JSON.
func writeRecords[T any](w io.Writer, all []T) error {
	enc := json.NewEncoder(w)
	for _, x := range all {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}
