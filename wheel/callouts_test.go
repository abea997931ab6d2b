package wheel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// calloutsTest runs random timeouts, untimeouts and expiries, and returns what happened as text.
func calloutsTest(t *testing.T, scheme string, cfg Config, seed uint64) (log []string) {
	r := rand.New(rand.NewPCG(seed, 5))
	cfg.Tick = 1
	c := NewCallouts(MustNew(scheme, cfg))
	byHandle := c.f.New(1 << 40)
	now := Time(0)
	for range 2000 {
		fn, arg := uint32(r.IntN(3)), uint64(r.IntN(20))
		switch r.IntN(5) {
		case 0, 1:
			c.Timeout(fn, arg, now+Time(r.IntN(60))-5)
		case 2:
			log = append(log, fmt.Sprint("untimeout ", fn, arg, c.Untimeout(fn, arg), c.f.Len()))
		case 3:
			c.f.Schedule(byHandle, now+Time(r.IntN(60)))
		case 4:
			now += Time(r.IntN(20))
			c.f.Advance(now, r.IntN(4), func(x Timer) {
				fn, arg, ok := c.Expired(x)
				log = append(log, fmt.Sprint(c.f.Now(), fn, arg, ok))
				if ok != (x != byHandle) {
					t.Errorf("%s: Expired(%d) = %v, want %v", scheme, x, ok, !ok)
				}
				if again := uint64(r.IntN(20)); ok && again < 10 {
					log = append(log, fmt.Sprint("untimeout ", fn, again, c.Untimeout(fn, again)))
				}
			})
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		if err := c.f.check(); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// Untimeout cancels the same one of several matching callouts, whether it searches the BSD list
// or the hash table.
func TestUntimeoutFindsTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("same counts without the race detector, in a tenth of the time")
	}
	for seed := range uint64(20) {
		want := calloutsTest(t, "callout", Config{}, seed)
		for _, scheme := range []string{"scheme1", "scheme2", "scheme2-rear", "scheme3", "scheme3-tree"} {
			got := calloutsTest(t, scheme, Config{}, seed)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("seed %d, event %d: %s: %q, want %q", seed, i, scheme, got[i:min(i+1, len(got))],
						want[i:min(i+1, len(want))])
				}
			}
		}
	}
}

// A lazy list holds stopped timers and is unordered, so Untimeout uses the hash table there.
func TestUntimeoutOnLazyList(t *testing.T) {
	c := NewCallouts(MustNew("callout", Config{Tick: 1, Lazy: true}))
	if c.list != nil {
		t.Fatal("Untimeout searches the lazy list")
	}
	x := c.f.New(0)
	c.f.Schedule(x, 10)
	c.f.Schedule(x, 1000) // keeps its place
	c.Timeout(1, 2, 500)
	if !c.Untimeout(1, 2) || c.Untimeout(1, 2) || c.f.Len() != 1 {
		t.Errorf("%d timers run, want that of the handle", c.f.Len())
	}
	calloutsTest(t, "callout", Config{Lazy: true}, 1)
}

// Untimeout does not find an expiring callout, as in BSD's softclock. It finds later callouts of
// its tick.
func TestUntimeoutFromExpiry(t *testing.T) {
	for _, scheme := range []string{"callout", "scheme2"} {
		c := NewCallouts(MustNew(scheme, Config{Tick: 1}))
		for arg := range uint64(3) {
			c.Timeout(1, arg, 10)
		}
		var called []uint64
		c.f.Advance(20, 0, func(x Timer) {
			_, arg, _ := c.Expired(x)
			called = append(called, arg)
			if c.Untimeout(1, arg) {
				t.Errorf("%s: callout %d cancelled while it expires", scheme, arg)
			}
			if arg == 0 && !c.Untimeout(1, 1) {
				t.Errorf("%s: callout 1 of the same tick not found", scheme)
			}
		})
		if fmt.Sprint(called) != "[0 2]" {
			t.Errorf("%s: called %v, want [0 2]", scheme, called)
		}
	}
}

// Of several callouts of one func and arg, Untimeout cancels the one that would expire first, and
// within a tick the one registered first.
func TestUntimeoutTakesTheFirst(t *testing.T) {
	for _, scheme := range []string{"callout", "scheme2", "scheme3"} {
		c := NewCallouts(MustNew(scheme, Config{Tick: 1}))
		log := ""
		var inExpiry func(arg uint64)
		advance := func(now Time, want string) {
			t.Helper()
			log = ""
			c.f.Advance(now, 0, func(x Timer) {
				_, arg, _ := c.Expired(x)
				log += fmt.Sprint(" ", c.f.Now(), "/", arg)
				if inExpiry != nil {
					inExpiry(arg)
				}
			})
			if log != want {
				t.Errorf("%s: called%s, want%s", scheme, log, want)
			}
		}
		c.Timeout(1, 7, 30)
		c.Timeout(1, 7, 20)
		c.Timeout(1, 8, 20)
		c.Timeout(1, 7, 20)
		c.Untimeout(1, 7)
		advance(100, " 20ns/8 20ns/7 30ns/7")

		// A due callout comes before one that was registered too late for this Advance.
		c.Timeout(1, 9, 110)
		c.Timeout(1, 7, 110)
		c.Timeout(1, 8, 120)
		inExpiry = func(arg uint64) {
			if arg == 9 {
				c.Timeout(1, 7, 50)
				c.Untimeout(1, 7)
			}
		}
		advance(130, " 110ns/9 120ns/8")
		advance(131, " 130ns/7")
	}
}

func TestUntimeoutBeforeExpired(t *testing.T) {
	for _, scheme := range []string{"callout", "scheme2"} {
		c := NewCallouts(MustNew(scheme, Config{Tick: 1}))
		c.Timeout(1, 7, 10)
		c.f.Advance(10, 0, func(x Timer) {
			if c.Untimeout(1, 7) {
				t.Errorf("%s: cancelled the callout that expires", scheme)
			}
			if fn, arg, ok := c.Expired(x); fn != 1 || arg != 7 || !ok {
				t.Errorf("%s: Expired = %d, %d, %v, want 1, 7, true", scheme, fn, arg, ok)
			}
		})
	}
}

func TestCalloutsDoNotAllocate(t *testing.T) {
	const n = 1000
	for _, scheme := range []string{"callout", "scheme3", "scheme1"} {
		c := NewCallouts(MustNew(scheme, Config{Tick: 1}))
		c.Reserve(n)
		now, expire := Time(0), func(x Timer) { c.Expired(x) }
		if got := testing.AllocsPerRun(100, func() {
			for i := range n {
				c.Timeout(uint32(i&3), uint64(i), now+Time(n-i))
			}
			for i := range n / 2 {
				c.Untimeout(uint32(i&3), uint64(i))
			}
			now += n
			c.f.Advance(now, 0, expire)
		}); got != 0 {
			t.Errorf("%s: %v allocations, want 0", scheme, got)
		}
		if c.n != 0 || c.f.Len() != 0 {
			t.Errorf("%s: %d callouts and %d timers left, want none", scheme, c.n, c.f.Len())
		}
	}
}

// The hash table grows with the callouts, so that chains stay short without Reserve, also for
// regular keys.
func TestCalloutsTableGrows(t *testing.T) {
	const n = 50_000
	for _, step := range []uint64{1, 8, 1 << 20, 1 << 40} {
		c := NewCallouts(MustNew("scheme1", Config{Tick: 1}))
		for i := range uint64(n) {
			c.Timeout(uint32(i%5), i*step, Time(i))
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(n) {
			if !c.Untimeout(uint32(i%5), i*step) {
				t.Fatalf("step %d: callout %d not found", step, i)
			}
		}
		if visits := c.Counts().StopVisits; visits > n {
			t.Errorf("step %d: %d visits to find %d callouts, want fewer than one each", step, visits, n)
		}
	}
}

func ExampleCallouts() {
	f := MustNew("callout", Config{Tick: 10 * time.Millisecond})
	c := NewCallouts(f)
	const retransmit, delayedAck = 1, 2
	ms := func(n int) Time { return Time(n) * Time(time.Millisecond) }

	c.Timeout(retransmit, 80, ms(1500))
	c.Timeout(delayedAck, 80, ms(200))
	c.Timeout(delayedAck, 81, ms(195))
	c.Untimeout(delayedAck, 80)

	f.Advance(ms(2000), 0, func(t Timer) {
		if fn, arg, ok := c.Expired(t); ok {
			fmt.Println(f.Now(), "func", fn, "arg", arg)
		}
	})
	// Output:
	// 200ms func 2 arg 81
	// 1.5s func 1 arg 80
}
