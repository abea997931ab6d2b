package capture

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"
)

// readWhole returns the segments of a Reader and what ended it.
func readWhole(r *Reader) (all []Packet, icmpErrors []ICMPError, err error) {
	r.OnICMPError(func(e ICMPError) { icmpErrors = append(icmpErrors, e) })
	for {
		p, err := r.Next()
		if err != nil {
			return all, icmpErrors, err
		}
		q := *p
		q.Payload = bytes.Clone(p.Payload)
		all = append(all, q)
	}
}

// TestSharesAreReader reads the public captures whole and in shares. Each segment is in one share,
// and elsewhere for the others; ICMP errors, counts and the end are the same.
func TestSharesAreReader(t *testing.T) {
	for _, name := range publicFiles(t) {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := NewReader(bytes.NewReader(file), name); err == nil {
			checkShares(t, name, whole, file)
			whole.Close()
		}
	}
}

func checkShares(t *testing.T, name string, whole *Reader, file []byte) {
	t.Helper()
	want, wantBig, wantErr := readWhole(whole)
	r, err := NewReader(bytes.NewReader(file), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	shares := r.Share(3)
	var reading sync.WaitGroup
	got, owners := make([][]Packet, len(shares)), make([]int, len(want))
	for i, s := range shares {
		reading.Go(func() {
			all, big, err := readWhole(s)
			if got[i] = all; len(all) != len(want) || !reflect.DeepEqual(big, wantBig) || err.Error() != wantErr.Error() {
				t.Errorf("%s: share %d has %d segments, %d ICMP errors and ends with %v, want %d, %d and %v", name, i, len(all), len(big), err, len(want), len(wantBig), wantErr)
				got[i] = nil
			}
		})
	}
	reading.Wait()
	for i, all := range got {
		for k, p := range all {
			if owned := !p.Elsewhere; owned || Sampled(int64(k+1)) {
				if p.Elsewhere = false; !reflect.DeepEqual(p, want[k]) {
					t.Fatalf("%s: share %d: %+v, want %+v", name, i, p, want[k])
				}
				if owned {
					owners[k]++
				}
			}
			if p.Number != want[k].Number || p.Time != want[k].Time || p.Since != want[k].Since {
				t.Fatalf("%s: share %d: segment %d: %+v, want %+v", name, i, k, p, want[k])
			}
		}
	}
	for k, n := range owners {
		if n != 1 {
			t.Fatalf("%s: packet %d is in %d shares", name, want[k].Number, n)
		}
	}
	if got := StatsOf(shares); got != whole.Stats() {
		t.Errorf("%s: %+v, want %+v", name, got, whole.Stats())
	}
}

// TestShareLeaves reads one of two shares to the end of a long capture, which the other has left.
func TestShareLeaves(t *testing.T) {
	file := pcapOfHello(101, hello())
	record := file[24:]
	for range 200_000 {
		file = append(file, record...)
	}
	r, err := NewReader(bytes.NewReader(file), "long")
	if err != nil {
		t.Fatal(err)
	}
	shares := r.Share(2)
	shares[0].Leave()
	shares[1].TakeAll()
	all, _, err := readWhole(shares[1])
	if n := int64(len(all)); n != shares[1].Stats().TCP || n < 200_000 || all[n-1].Elsewhere || err.Error() != "EOF" {
		t.Errorf("%d segments and %v", n, err)
	}
	r.Stop()
	if _, err := r.Share(1)[0].Next(); err == nil || errors.Is(err, ErrCutShort) {
		t.Errorf("after Stop: %v", err)
	}
}
