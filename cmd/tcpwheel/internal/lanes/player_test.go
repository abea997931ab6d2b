package lanes

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func newPlayer(t *testing.T, lanes ...string) *Player {
	t.Helper()
	run, err := NewRun(1, lanes, DefaultConditions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlayer(run)
	t.Cleanup(p.Close)
	return p
}

func play(t *testing.T, p *Player, span time.Duration) {
	t.Helper()
	for end := p.Frame().Time.Add(span); p.Frame().Time < end; {
		if err := p.Tick(FrameEvery); err != nil {
			t.Fatal(err)
		}
	}
}

func control(t *testing.T, p *Player, name, text string) {
	t.Helper()
	if err := p.Control(name, text); err != nil {
		t.Fatal(err)
	}
}

// finish works until there is no more, and returns how many pieces that took.
func finish(t *testing.T, p *Player) (pieces int) {
	t.Helper()
	for {
		more, err := p.Work()
		if err != nil {
			t.Fatal(err)
		}
		if pieces++; !more {
			return pieces
		}
	}
}

func results(t *testing.T, p *Player) string {
	t.Helper()
	b, err := json.Marshal(p.Results())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func past(t *testing.T, p *Player, from, to time.Duration) (all []Frame) {
	t.Helper()
	if err := json.Unmarshal(p.Past(wheel.Time(from), wheel.Time(to)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestThePastHasEveryPacket compares the log with what a viewer got live: the same packets, each
// once and in order, and the results of those moments.
func TestThePastHasEveryPacket(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSameSeedSameResults has the same goroutines: runs without -short")
	}
	p := newPlayer(t)
	var viewer Viewer
	live := make([][]Transmission, p.Lanes())
	at := map[wheel.Time]int{}
	for p.Frame().Time < wheel.Time(9*time.Second) {
		play(t, p, FrameEvery)
		f := viewer.Next(p.Frame())
		at[f.Time] = f.Lanes[0].Responses
		for i := range f.Lanes {
			for _, x := range f.Lanes[i].Packets {
				live[i] = append(live[i], *x)
			}
		}
	}
	logged := make([]int, p.Lanes())
	var last wheel.Time
	for _, f := range past(t, p, 0, 30*time.Second) {
		if f.Time > 0 && f.Time <= last {
			t.Errorf("a frame of %v after one of %v", f.Time, last)
		}
		last = f.Time
		if want, ok := at[f.Time]; ok && f.Lanes[0].Responses != want {
			t.Errorf("at %v the log has %d responses, want %d", f.Time, f.Lanes[0].Responses, want)
		}
		for i := range f.Lanes {
			for _, x := range f.Lanes[i].Packets {
				if logged[i] >= len(live[i]) || *x != live[i][logged[i]] {
					t.Fatalf("lane %d: packet %d of the log is %+v", i, logged[i], x)
				}
				logged[i]++
			}
		}
	}
	if logged[0] < 2000 || last < wheel.Time(8500*time.Millisecond) {
		t.Errorf("%d packets up to %v, want 2,000 and 8.5 s or more", logged[0], last)
	}
	for _, f := range past(t, p, 4*time.Second, 5*time.Second) {
		if d := time.Duration(f.Time); d < 1*time.Second || d > 8*time.Second {
			t.Errorf("a frame of %v for 4 to 5 s", d)
		}
	}
}

// TestBranchIsTheSameRun goes back by another run: at each time its results are those of before.
// The old run is shown until the other one is there, and a second press replaces the first.
func TestBranchIsTheSameRun(t *testing.T) {
	p := newPlayer(t)
	play(t, p, 2*time.Second)
	control(t, p, "drop", "3")
	play(t, p, 3*time.Second)
	want := results(t, p)
	play(t, p, time.Second)
	control(t, p, "branch", "4")
	control(t, p, "branch", "3")
	if _, err := p.Work(); err != nil {
		t.Fatal(err)
	}
	if err := p.Tick(FrameEvery); err != nil {
		t.Fatal(err)
	}
	if f := p.Frame(); f.Time != wheel.Time(6*time.Second) || f.Work == nil || f.Work.Done <= 0 || f.Work.Done >= 1 {
		t.Errorf("while a run is on its way the page shows %v, %+v", f.Time, f.Work)
	}
	if err := p.Control("drop", "1"); err == nil {
		t.Error("an action while a run is on its way would be lost, and is accepted")
	}
	if n := finish(t, p); n < 20 || n > 40 {
		t.Errorf("3 s were done in %d pieces, want one for each 100 ms", n)
	}
	if f := p.Frame(); f.Time != wheel.Time(3*time.Second) || f.Restarts != 1 || f.Work != nil {
		t.Errorf("at %v after %d restarts, want 3s after 1", f.Time, f.Restarts)
	}
	play(t, p, 2*time.Second)
	if got := results(t, p); got != want {
		t.Errorf("after going back:\n%s\nwant\n%s", got, want)
	}
	control(t, p, "branch", "1")
	control(t, p, "cancel", "")
	if more, _ := p.Work(); more || p.Frame().Time != wheel.Time(5*time.Second) {
		t.Error("a run that was cancelled goes on")
	}
}

// TestOtherLanesHaveTheSameHistory gives a lane another TCP: the others did the same.
func TestOtherLanesHaveTheSameHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("TestSameSeedSameResults has the same goroutines: runs without -short")
	}
	p := newPlayer(t)
	control(t, p, "tail", "1")
	play(t, p, 5*time.Second)
	before := p.Results()[0]
	control(t, p, "lanes", "per-segment,gvisor,bsd")
	finish(t, p)
	after := p.Results()
	if before.Responses != after[0].Responses || before.TimeLost != after[0].TimeLost || after[1].Lane != gvisorLane || after[1].Responses == 0 {
		t.Errorf("after the change %+v, want %+v in the first lane and gVisor's TCP in the second", after, before)
	}
	if all := past(t, p, 0, 5*time.Second); len(all) < 20 || all[10].Lanes[1].Lane != gvisorLane {
		t.Error("the log is not that of the other run")
	}
}

// TestLogIsBounded gives the log less room than it wants: the oldest times keep their losses and
// retransmissions, the latest all.
func TestLogIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine plays 50 s: runs without -short")
	}
	p := newPlayer(t)
	p.take.log.limit = 600_000
	play(t, p, 50*time.Second)
	h := p.take.log
	if h.bytes > h.limit {
		t.Errorf("the log has %d bytes, want %d at most", h.bytes, h.limit)
	}
	first := past(t, p, 0, time.Second)
	if len(first) == 0 || first[0].Detail != int(lossDetail) {
		t.Fatalf("the first frames are %+v, want losses only", first)
	}
	lost := 0
	for _, x := range first[0].Lanes[0].Packets {
		if x.Lost == "" && !x.Again {
			t.Errorf("the oldest frames still have %+v", x)
		}
		lost++
	}
	if lost == 0 {
		t.Error("the oldest frames lack their losses")
	}
	if all := past(t, p, 48*time.Second, 50*time.Second); all[len(all)-1].Detail != 0 {
		t.Error("the latest frames lack detail")
	}
}

// TestMarks has the user's actions and the slowest recoveries.
func TestMarks(t *testing.T) {
	p := newPlayer(t)
	play(t, p, 2*time.Second)
	control(t, p, "tail", "1")
	play(t, p, 5*time.Second)
	action, slow := false, time.Duration(0)
	for _, m := range p.Marks() {
		action = action || m.Lane == -1 && m.What == "tail 1" && m.At == wheel.Time(2*time.Second)
		slow = max(slow, m.Took)
	}
	if !action || slow < 100*time.Millisecond {
		t.Errorf("marks: %+v", p.Marks())
	}
}

// BenchmarkPast looks at three seconds of the log, after a minute.
func BenchmarkPast(b *testing.B) {
	run, err := NewRun(1, nil, DefaultConditions(), nil)
	if err != nil {
		b.Fatal(err)
	}
	p := NewPlayer(run)
	defer p.Close()
	for range 1200 {
		if err := p.Tick(FrameEvery); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for b.Loop() {
		p.Past(wheel.Time(30*time.Second), wheel.Time(33*time.Second))
	}
	b.ReportMetric(float64(p.take.log.bytes)/60, "log-bytes/s")
	b.ReportMetric(float64(m.HeapInuse), "heap-bytes")
}

// TestRecordersForget plays lanes with a timer per connection: packets wait for timers of their own
// only for a moment.
func TestRecordersForget(t *testing.T) {
	p := newPlayer(t)
	play(t, p, 5*time.Second)
	for i, r := range p.take.rec {
		for id, c := range r.conns {
			if len(c.fresh) > 50 || len(c.started) > 50 {
				t.Errorf("lane %d, connection %d: %d packets and %d timers wait for each other", i, id, len(c.fresh), len(c.started))
			}
		}
	}
}

// TestLongRun plays for the span that TCPWHEEL_PLAY names, such as 1h, as the command does, and
// logs memory now and then and how long looks at the past take.
func TestLongRun(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("TCPWHEEL_PLAY"))
	if err != nil {
		t.Skip("TCPWHEEL_PLAY names no span")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(30))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(MemoryLimit))
	p := newPlayer(t)
	for p.Frame().Time < wheel.Time(span) {
		play(t, p, span/12)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		worst := time.Duration(0)
		for from := time.Duration(0); from < time.Duration(p.Frame().Time); from += span / 12 {
			began := time.Now()
			p.Past(wheel.Time(from), wheel.Time(from+8*time.Second))
			worst = max(worst, time.Since(began))
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		t.Logf("%v: log %d kB, live after the last collection %d MB, from the system %d MB, a look at 8 s of the past at most %v",
			time.Duration(p.Frame().Time), p.take.log.bytes/1000, live[0].Value.Uint64()>>20, (m.Sys-m.HeapReleased)>>20, worst)
	}
}
