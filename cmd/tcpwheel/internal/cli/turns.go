package cli

import (
	"bytes"
	"io"
	"sync"
)

// turns joins the outputs of several files in their order. The first unfinished file writes at
// once, later ones into memory.
type turns struct {
	w         io.Writer
	separator string // between two outputs

	mu       sync.Mutex
	moved    sync.Cond
	now      int // the file whose turn it is
	held     map[int]*turn
	heldSize int
	wrote    bool
}

// maxHeld bounds the output in memory: writers of later files wait.
const maxHeld = 32 << 20

func newTurns(w io.Writer, separator string) *turns {
	t := &turns{w: w, separator: separator, held: map[int]*turn{}}
	t.moved.L = &t.mu
	return t
}

// turn is the output of one file.
type turn struct {
	t        *turns
	i        int
	begun    bool
	text     bytes.Buffer
	finished func() // nil until the file is done
}

// of returns the output of file i.
func (t *turns) of(i int) *turn { return &turn{t: t, i: i} }

// Write writes, or keeps what is written until the file's turn comes.
func (u *turn) Write(b []byte) (int, error) {
	t := u.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.now != u.i && t.heldSize > maxHeld {
		t.moved.Wait()
	}
	if t.now == u.i {
		if err := u.flush(); err != nil {
			return 0, err
		}
		return len(b), u.write(b)
	}
	t.heldSize += len(b)
	return u.text.Write(b)
}

func (u *turn) flush() error {
	n := u.text.Len()
	u.t.heldSize -= n
	err := u.write(u.text.Bytes())
	u.text = bytes.Buffer{}
	return err
}

func (u *turn) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if !u.begun && u.t.wrote {
		if _, err := io.WriteString(u.t.w, u.t.separator); err != nil {
			return err
		}
	}
	u.begun, u.t.wrote = true, true
	_, err := u.t.w.Write(b)
	return err
}

// done ends the output of the file. It calls after, with the output written, when its turn comes.
func (u *turn) done(after func()) (err error) {
	t := u.t
	t.mu.Lock()
	defer t.mu.Unlock()
	u.finished = after
	t.held[u.i] = u
	for next := t.held[t.now]; next != nil; next = t.held[t.now] {
		if failed := next.flush(); err == nil {
			err = failed
		}
		next.finished()
		delete(t.held, t.now)
		t.now++
	}
	t.moved.Broadcast()
	return err
}
