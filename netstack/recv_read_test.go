package netstack

import (
	"bytes"
	"io"
	"math/rand"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
)

// TestReadReleasesViews reads buffers of full and partial views of many sizes, in pieces that end
// anywhere.
func TestReadReleasesViews(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var e Endpoint
	for range scaled(300, 2000) {
		var b buffer.Buffer
		var want, got bytes.Buffer
		for range rng.Intn(40) {
			v := buffer.NewViewSize(64 << rng.Intn(9))
			v.CapLength(v.Size() - rng.Intn(2)*rng.Intn(v.Size()))
			rng.Read(v.AsSlice())
			want.Write(v.AsSlice())
			b.Append(v)
		}
		for b.Size() > 0 {
			room := 1 + rng.Intn(100_000)
			n, err := writeOut(&b, &limited{&got, room})
			if full := room < int(b.Size()); n != min(room, int(b.Size())) || (err != nil) != full {
				t.Fatalf("wrote %d of %d bytes to %d, %v", n, b.Size(), room, err)
			}
			left := int(b.Size()) - n
			e.releaseRead(&b, n)
			if int(b.Size()) != left {
				t.Fatalf("%d bytes are left, want %d", b.Size(), left)
			}
		}
		b.Release()
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("read %d bytes that differ from the %d in the buffer", got.Len(), want.Len())
		}
	}
}

// limited takes left bytes.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n, _ := l.w.Write(b[:min(len(b), l.left)])
	if l.left -= n; n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
