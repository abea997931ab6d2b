package cli

import (
	"encoding/json"
	"io"
	"iter"
	"slices"
)

// newJSONLines returns an encoder that writes each record as a line and keeps <, > and &.
func newJSONLines(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// writeRecords writes each record as a line of JSON.
func writeRecords[T any](w io.Writer, all []T) error {
	return encodeAll(newJSONLines(w), slices.Values(all))
}

// encodeAll writes each record as a line of JSON.
func encodeAll[T any](enc *json.Encoder, records iter.Seq[T]) error {
	for x := range records {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}
