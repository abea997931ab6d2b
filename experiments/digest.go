package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Digest returns the SHA-256 of the names and results of all cells, in hexadecimal digits. Runs
// with equal digests measured the same, to the last digit.
func (j *Job) Digest(results []json.RawMessage) string {
	h := sha256.New()
	for i, r := range results {
		digestCell(h, j.Cells[i].Name, r)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CellDigest is Digest for one cell.
func CellDigest(name string, result json.RawMessage) string {
	h := sha256.New()
	digestCell(h, name, result)
	return hex.EncodeToString(h.Sum(nil))
}

func digestCell(h hash.Hash, name string, result json.RawMessage) {
	fmt.Fprintf(h, "%s\n%s\n", name, result)
}

// Cost estimates the CPU time of all cells, in seconds.
func (j *Job) Cost() (seconds float64) {
	for i := range j.Cells {
		seconds += j.Cells[i].Cost
	}
	return seconds
}
