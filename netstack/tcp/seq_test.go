package tcp

import (
	"math/rand/v2"
	"testing"
)

// TestSeqOrder compares with plain integers: numbers less than 2^31 apart are ordered by their
// distance around the circle (RFC 9293 §3.4).
func TestSeqOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	bases := []Seq{0, 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1}
	dists := []int64{0, 1, -1, 1<<31 - 1, -(1<<31 - 1)}
	for range 10000 {
		bases = append(bases, Seq(rng.Uint32()))
		dists = append(dists, rng.Int64N(1<<32-1)-(1<<31-1))
	}
	for i, s := range bases {
		for _, d := range []int64{0, 1, -1, dists[i%len(dists)], dists[rng.IntN(len(dists))]} {
			u := Seq(int64(s) + d)
			if got, want := s.Before(u), d > 0; got != want {
				t.Fatalf("%v.Before(%v) = %v, want %v", s, u, got, want)
			}
			if got, want := s.After(u), d < 0; got != want {
				t.Fatalf("%v.After(%v) = %v, want %v", s, u, got, want)
			}
			if got, want := s.AtOrBefore(u), d >= 0; got != want {
				t.Fatalf("%v.AtOrBefore(%v) = %v, want %v", s, u, got, want)
			}
			if got, want := s.AtOrAfter(u), d <= 0; got != want {
				t.Fatalf("%v.AtOrAfter(%v) = %v, want %v", s, u, got, want)
			}
			early, late := s, u
			if d < 0 {
				early, late = u, s
			}
			if MinSeq(s, u) != early || MaxSeq(s, u) != late {
				t.Fatalf("MinSeq, MaxSeq(%v, %v) = %v, %v, want %v, %v", s, u, MinSeq(s, u), MaxSeq(s, u), early, late)
			}
			if d >= 0 && (s.Add(uint32(d)) != u || u.Sub(s) != uint32(d)) {
				t.Fatalf("%v + %d = %v and back %d, want %v", s, d, s.Add(uint32(d)), u.Sub(s), u)
			}
		}
	}
}

// TestSeqInWindow compares InWindow with a walk through the window.
func TestSeqInWindow(t *testing.T) {
	for _, first := range []Seq{0, 5, 1<<31 - 3, 1<<32 - 3} {
		for size := range uint32(8) {
			in := map[Seq]bool{}
			for i := range size {
				in[first.Add(i)] = true
			}
			for i := range uint32(20) {
				s := first.Add(i - 10)
				if got := s.InWindow(first, size); got != in[s] {
					t.Errorf("%v.InWindow(%v, %d) = %v, want %v", s, first, size, got, in[s])
				}
			}
		}
	}
}

func TestRange(t *testing.T) {
	r := SeqRange{Start: 1<<32 - 10, End: 10}
	if got := r.Len(); got != 20 {
		t.Errorf("Len of %v = %d, want 20", r, got)
	}
	for o, want := range map[SeqRange]bool{
		r:                             true,
		{Start: 0, End: 10}:           true,
		{Start: 5, End: 5}:            true,
		{Start: 0, End: 11}:           false,
		{Start: 1<<32 - 11, End: 0}:   false,
		{Start: 1<<32 - 10, End: 0}:   true,
		{Start: 100, End: 200}:        false,
		{Start: 1<<32 - 50, End: 100}: false,
	} {
		if got := r.contains(o); got != want {
			t.Errorf("%v.Contains(%v) = %v, want %v", r, o, got, want)
		}
	}
	if got := Seq(1<<32 - 1).String(); got != "4294967295" {
		t.Errorf("String() = %s, want 4294967295", got)
	}
}

// TestSeqUnwrap compares with plain integers: a position less than 2^31 from another is found
// from that one and its own sequence number.
func TestSeqUnwrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 10000 {
		first, near := Seq(rng.Uint32()), rng.Int64N(1<<40)-1<<20
		pos := near + rng.Int64N(1<<32-1) - (1<<31 - 1)
		if got := (first + Seq(pos) - first).Unwrap(near); got != pos {
			t.Fatalf("(%d + %d - first).Unwrap(%d) = %d, want %d", first, pos, near, got, pos)
		}
	}
}
