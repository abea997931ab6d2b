package track

import (
	"math"
	"math/rand/v2"
	"testing"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// drawnFacts returns n packets: most follow the one before in their flow, some have any numbers.
func drawnFacts(r *rand.Rand, n int) (all []Fact) {
	var last [2]Fact
	for i := range n {
		x := &last[r.IntN(2)]
		x.Seen = x.Seen.Add(1000)
		x.Sent, x.Number, x.Start = x.Seen, int64(i), x.Start+1448
		if r.IntN(10) == 0 {
			*x = Fact{
				Seen: wheel.Time(r.Int64() - math.MaxInt64/2), Sent: wheel.Time(r.Int64() - math.MaxInt64/2), Number: r.Int64(), Start: -r.Int64(),
				Len: r.Uint32(), Window: int32(r.Uint32()), Ack: -1, TSVal: r.Uint32(), TSEcr: r.Uint32(), firstSACK: r.Uint32(), rexmit: -1,
				Flags: tcp.Flags(r.Uint32()), Kind: EventKind(r.IntN(int(Ignored) + 1)), HasTS: r.IntN(2) == 0, DSACK: r.IntN(2) == 0, sacks: uint8(r.Uint32()),
			}
		}
		x.Flow = uint8(r.IntN(2))
		last[x.Flow] = *x
		all = append(all, *x)
	}
	return all
}

// TestPackedFacts compares Facts with the packets that were added.
func TestPackedFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, n := range []int{0, 1, factsEach, factsEach + 1, 11*factsEach + 7} {
		want := drawnFacts(r, n)
		var a Facts
		for i := range want {
			a.add(&want[i])
		}
		check := func() {
			t.Helper()
			i := 0
			for k, x := range a.All() {
				if k != i || *x != want[i] {
					t.Fatalf("packet %d of %d is number %d, %+v, want %+v", i, n, k, *x, want[i])
				}
				i++
			}
			if i != n || a.Len() != n {
				t.Fatalf("%d packets, Len() = %d, want %d", i, a.Len(), n)
			}
			reader := a.Reader()
			for range 3 * n {
				if i := r.IntN(n); *reader.At(i) != want[i] {
					t.Fatalf("At(%d) of %d = %+v, want %+v", i, n, *reader.At(i), want[i])
				}
			}
		}
		check()
		a.change(func(x *Fact) { x.Start++ })
		for i := range want {
			want[i].Start++
		}
		check()
	}
}

// TestPackedFactsAreSmall packs a transfer of full segments, whose ACKs echo timestamps.
func TestPackedFactsAreSmall(t *testing.T) {
	var all []Fact
	for i := range factsEach {
		x := Fact{Seen: 1e18 + wheel.Time(110_000*i), Number: int64(i), Window: 64 << 10, HasTS: true, TSVal: 5 + uint32(i/9), TSEcr: 9 + uint32(i/9), rexmit: -1}
		x.Sent = x.Seen
		if x.Flow = uint8(i % 3 / 2); x.Flow == 0 {
			x.Start, x.Len, x.Ack = int64(1+1448*i), 1448, 1
		} else {
			x.Start, x.Ack = 1, int64(1448*(i-100))
		}
		all = append(all, x)
	}
	if p, _ := pack(all, nil); len(p) > 12*len(all) {
		t.Errorf("%d packets take %d bytes, want at most 12 each", len(all), len(p))
	}
}
