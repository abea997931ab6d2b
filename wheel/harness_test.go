package wheel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	ns = Time(1)
	us = 1000 * ns
	ms = 1000 * us
)

// facilityTest tells a story about one facility. It owns now, names timers and logs each step. A
// step fails if an earlier step left expiries unclaimed.
type facilityTest struct {
	*testing.T
	scheme    string
	cfg       Config
	f         Facility
	timers    map[string]Timer
	names     map[uint64]string // by owner
	actions   map[string]func()
	unclaimed []expired
}

// expired is an expiry: the timer's name, and Now at that moment.
type expired struct {
	name string
	at   Time
}

func (e expired) String() string { return fmt.Sprintf("%s@%v", e.name, e.at) }

// eachFacility tells the story for every scheme, eager and lazy.
func eachFacility(t *testing.T, cfg Config, story func(test *facilityTest)) {
	t.Helper()
	for _, scheme := range Schemes() {
		for _, cfg.Lazy = range []bool{false, true} {
			mode := "eager"
			if cfg.Lazy {
				mode = "lazy"
			}
			t.Run(scheme+"/"+mode, func(t *testing.T) {
				onItsClock(t, scheme, func(t *testing.T) {
					test := newFacilityTest(t, scheme, cfg)
					story(test)
					test.step("# the end")
					for name := range test.timers {
						test.free(name)
					}
				})
			})
		}
	}
}

func newFacilityTest(t *testing.T, scheme string, cfg Config) *facilityTest {
	t.Helper()
	f, err := New(scheme, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &facilityTest{T: t, scheme: scheme, cfg: cfg, f: f,
		timers: map[string]Timer{}, names: map[uint64]string{}, actions: map[string]func(){}}
}

// rounds reports whether the scheme expires timers later than asked, at a tick that Deadline
// reports.
func (test *facilityTest) rounds() bool { return rounds[test.scheme] }

// last is the last instant that an Advance may reach.
func (test *facilityTest) last() Time {
	if test.scheme == "runtime" {
		return 1 << 62 // the machine's clock ends soon after
	}
	return math.MaxInt64
}

func (test *facilityTest) step(format string, args ...any) {
	test.Helper()
	test.Logf(format, args...)
	if len(test.unclaimed) > 0 {
		test.Fatalf("expired and unclaimed: %v", test.unclaimed)
	}
	if err := test.f.check(); err != nil {
		test.Fatal(err)
	}
}

// timer returns the timer of that name.
func (test *facilityTest) timer(name string) Timer {
	test.Helper()
	t, ok := test.timers[name]
	if !ok {
		test.Fatalf("no timer is called %q", name)
	}
	return t
}

// make makes timers of these names.
func (test *facilityTest) make(names ...string) {
	test.Helper()
	for _, name := range names {
		owner := uint64(len(test.names) + 1)
		test.names[owner] = name
		test.timers[name] = test.f.New(owner)
		test.step("New(%d) is timer %d, %q", owner, test.timers[name], name)
	}
}

func (test *facilityTest) free(name string) {
	test.Helper()
	test.step("Free(%s)", name)
	test.f.Free(test.timer(name))
	delete(test.timers, name)
}

// start starts the timer of that name. It makes the timer first if there is none.
func (test *facilityTest) start(name string, at Time) {
	test.Helper()
	if _, ok := test.timers[name]; !ok {
		test.make(name)
	}
	test.step("Schedule(%s, %v)", name, at)
	test.f.Schedule(test.timer(name), at)
}

func (test *facilityTest) startRange(name string, earliest, latest Time) {
	test.Helper()
	if _, ok := test.timers[name]; !ok {
		test.make(name)
	}
	test.step("ScheduleRange(%s, %v, %v)", name, earliest, latest)
	test.f.ScheduleRange(test.timer(name), earliest, latest)
}

func (test *facilityTest) stop(name string, want bool) {
	test.Helper()
	test.step("Stop(%s)", name)
	if got := test.f.Stop(test.timer(name)); got != want {
		test.Fatalf("Stop(%s) = %t, want %t", name, got, want)
	}
}

// onExpiry runs action whenever that timer expires.
func (test *facilityTest) onExpiry(name string, action func()) { test.actions[name] = action }

// advance advances to now without a limit.
func (test *facilityTest) advance(now Time) {
	test.Helper()
	test.advanceLimit(now, 0, true)
}

func (test *facilityTest) advanceLimit(now Time, limit int, wantDone bool) {
	test.Helper()
	test.step("Advance(%v, %d)", now, limit)
	advanceClock(test.f, now)
	n, done := test.f.Advance(now, limit, test.expire)
	if n != len(test.unclaimed) || done != wantDone {
		test.Fatalf("Advance(%v, %d) = %d, %t, want %d, %t", now, limit, n, done, len(test.unclaimed), wantDone)
	}
}

// expire records an expiry and runs the action of the story for it, which may start other timers.
func (test *facilityTest) expire(t Timer) {
	name := test.names[test.f.Owner(t)]
	before := append(test.unclaimed, expired{name, test.f.Now()})
	test.unclaimed = nil
	test.Logf("%v expires", before[len(before)-1])
	if action := test.actions[name]; action != nil {
		action()
	}
	test.unclaimed = append(before, test.unclaimed...)
}

// want claims the expiries so far: "a@5ms", in START order within an instant. Schemes that do not
// promise that order, and lazy ones, may have another order within an instant.
func (test *facilityTest) want(names ...string) {
	test.Helper()
	got := slices.Clone(test.unclaimed)
	byTime := func(a, b expired) int { return cmp.Compare(a.at, b.at) }
	if !slices.IsSortedFunc(got, byTime) {
		test.Fatalf("expired %v: time goes backwards", got)
	}
	if !promisesStartOrder(test.scheme, test.cfg) {
		asWanted := func(e expired) int { return slices.Index(names, e.String()) }
		slices.SortFunc(got, func(a, b expired) int {
			return cmp.Or(byTime(a, b), cmp.Compare(asWanted(a), asWanted(b)))
		})
	}
	if got, want := fmt.Sprint(got), "["+strings.Join(names, " ")+"]"; got != want {
		test.Fatalf("expired %v, want %v", got, want)
	}
	test.Logf("that was %v", names)
	test.unclaimed = nil
}

func (test *facilityTest) wantNow(want Time) {
	test.Helper()
	if got := test.f.Now(); got != want {
		test.Fatalf("Now() = %v, want %v", got, want)
	}
}

func (test *facilityTest) wantLen(want int) {
	test.Helper()
	if got := test.f.Len(); got != want {
		test.Fatalf("Len() = %d, want %d", got, want)
	}
}

func (test *facilityTest) wantDeadline(name string, want Time) {
	test.Helper()
	if got, runs := test.f.Deadline(test.timer(name)); got != want || !runs {
		test.Fatalf("Deadline(%s) = %v, %t, want %v", name, got, runs, want)
	}
}

func (test *facilityTest) wantNotRunning(name string) {
	test.Helper()
	if got, runs := test.f.Deadline(test.timer(name)); runs {
		test.Fatalf("Deadline(%s) = %v, want it not running", name, got)
	}
}

// wantNextExpiry wants the exact instant. A lazy scheme that knows only where its timers are may
// return an earlier one.
func (test *facilityTest) wantNextExpiry(limit, want Time) {
	test.Helper()
	got, ok := test.f.NextExpiry(limit)
	if early := test.cfg.Lazy && test.scheme != "scheme6"; !ok || got > want || got < want && !early || got > limit {
		test.Fatalf("NextExpiry(%v) = %v, %t, want %v", limit, got, ok, want)
	}
}

func (test *facilityTest) wantNoExpiry(limit Time) {
	test.Helper()
	if got, ok := test.f.NextExpiry(limit); ok && !(test.cfg.Lazy && test.scheme != "scheme6" && test.f.Len() > 0) {
		test.Fatalf("NextExpiry(%v) = %v, want none", limit, got)
	}
}

// wantPanic runs misuse, which must panic with a message that begins with want.
func wantPanic(t testing.TB, want string, misuse func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got == nil || !strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	misuse()
}
