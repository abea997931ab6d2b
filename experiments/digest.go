package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
)

// Digest returns the SHA-256 of the results of all cells with their names, in hexadecimal digits: two runs with the same have
// measured the same, to the last digit.
func (j *Job) Digest(results []json.RawMessage) string {
	h := sha256.New()
	for i, r := range results {
		digestCell(h, j.Cells[i].Name, r)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CellDigest is Digest of one cell.
func CellDigest(name string, result json.RawMessage) string {
	h := sha256.New()
	digestCell(h, name, result)
	return hex.EncodeToString(h.Sum(nil))
}

func digestCell(h hash.Hash, name string, result json.RawMessage) {
	fmt.Fprintf(h, "%s\n%s\n", name, result)
}

// Cost returns about how many seconds all cells take on one processor.
func (j *Job) Cost() (seconds float64) {
	for i := range j.Cells {
		seconds += j.Cells[i].Cost
	}
	return seconds
}
