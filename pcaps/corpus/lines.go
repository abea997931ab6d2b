package corpus

import (
	"bytes"
	"encoding/json"
)

// JSONLines is the format that needs no library: a line of JSON for each record. It implements
// Format.
type JSONLines struct{}

// Extension implements Format.
func (JSONLines) Extension() string { return ".jsonl" }

// NewWriter implements Format.
func (JSONLines) NewWriter(*Table) Writer { return &lines{} }

type lines struct{ body bytes.Buffer }

// Add implements Writer.
func (w *lines) Add(record any) error { return json.NewEncoder(&w.body).Encode(record) }

// Close implements Writer.
func (w *lines) Close() ([]byte, error) { return w.body.Bytes(), nil }
