package corpus

import (
	"io"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	var p Progress
	p.Start([]Object{{Size: 100}, {Size: -1}})
	if _, err := io.Copy(io.Discard, p.Count(strings.NewReader("12345"))); err != nil {
		t.Fatal(err)
	}
	p.Done()
	if objects, of, bytes, ofBytes, since := p.Now(); objects != 1 || of != 2 || bytes != 5 || ofBytes != 100 || since < 0 {
		t.Errorf("%d of %d, %d of %d, %v", objects, of, bytes, ofBytes, since)
	}
}
