package truth

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// sample returns the packets of a sample.
func sample(t testing.TB, name string) damage.Packets {
	t.Helper()
	in, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := capture.NewReader(in, name)
	if err == nil {
		all, e := damage.Load(r)
		if err = e; err == nil {
			return all
		}
	}
	t.Fatal(err)
	return nil
}

// parse returns damages by their texts.
func parse(t testing.TB, texts ...string) (all []*damage.Damage) {
	t.Helper()
	for _, text := range texts {
		d, err := damage.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

// TestDamageRelations damages simulated captures in all ways: what analyze and replay say stays
// within the bounds, and two runs agree.
func TestDamageRelations(t *testing.T) {
	const n = 6 // with fewer, one capture decides a share
	table := &DamageTable{Damages: damage.All(), Seed: 1, Replayed: 1000}
	err := SimulatedCaptures(n, 77_000_000, func(name string, all damage.Packets) error { return table.Add(t.Context(), name, all) })
	if err != nil {
		t.Fatal(err)
	}
	episodes := 0
	for i := range table.Rows {
		row := &table.Rows[i]
		episodes += row.Kept
		if err := row.Check(); err != nil {
			t.Error(err)
			for _, f := range row.Findings {
				t.Logf("%s, packet %d: %s: %s", f.File, f.Packet, f.What, f.Says)
			}
		}
	}
	if table.Files != n || episodes < 100*n {
		t.Errorf("%d captures, %d episodes kept, want %d and %d at least", table.Files, episodes, n, 100*n)
	}
}

// TestDamageTableSeesInventions compares a capture with one that has no episode, and with itself.
func TestDamageTableSeesInventions(t *testing.T) {
	all := sample(t, "burst/a.pcapng.gz")
	none := &undamaged{name: "none", all: all, findings: &findings{}}
	row, err := none.under(parse(t, "drop:0%")[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	if row.Invented == 0 || row.Invented != row.After || row.Findings[0].Packet == 0 || row.Grew != 1 {
		t.Errorf("%+v", row)
	}
	if err := row.Check(); err == nil || !strings.Contains(err.Error(), "drop:0%: ") {
		t.Errorf("%v, want that too many are invented", err)
	}
	table := &DamageTable{Damages: parse(t, "drop:0%"), Seed: 1, Replayed: 1000}
	if err := table.Add(t.Context(), "burst", all); err != nil {
		t.Fatal(err)
	}
	same := &table.Rows[0]
	if same.Before != same.After || same.Kept != same.After || same.Lost != same.LostAfter || len(same.Findings) > 0 || same.Check() != nil {
		t.Errorf("undamaged: %+v", same)
	}
}

// TestDamageTableSeesPanics counts a panic, with its place.
func TestDamageTableSeesPanics(t *testing.T) {
	all := sample(t, "tail-one/a.pcapng.gz")
	broken := append(damage.Packets{}, all...)
	broken[3] = nil
	f := find("broken", broken, nil)
	if !strings.Contains(f.panicked, "nil pointer") || !strings.Contains(f.panicked, "truth.decode") {
		t.Errorf("%q", f.panicked)
	}
	row := DamageRow{Panics: 1}
	if err := row.Check(); err == nil || !strings.Contains(err.Error(), "1 panics") {
		t.Error(err)
	}
}

// TestDamageStops stops at an interruption.
func TestDamageStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	table := &DamageTable{Damages: parse(t, "drop:1%")}
	if err := table.Add(ctx, "burst", sample(t, "burst/a.pcapng.gz")); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// TestDamagedTrials judges replays of damaged captures by what other timers really do.
func TestDamagedTrials(t *testing.T) {
	if testing.Short() {
		t.Skip("TestTrials has the same goroutines: runs without -short")
	}
	trials := &Trials{Seeds: 1, First: 5_000_000, Damages: parse(t, "begin:33%", "drop:1%", "cut:96", "resolution:4ms"), PerTrial: 4, every: 4}
	r, n, err := trials.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong, known, _ := r.Wrong()
	t.Logf("%d trials, %d of %d verdicts are false", n, wrong, known)
	if wrong > 0 || known == 0 {
		t.Errorf("%d of %d verdicts are false", wrong, known)
	}
	seen := map[string]bool{}
	for _, j := range r.Verdicts {
		if j.False() {
			t.Logf("%+v", j)
		}
		seen[j.Damage] = true
	}
	if len(seen) != 4 || seen[""] {
		t.Errorf("damages %v, want all four", seen)
	}
}

// FuzzDamaged reads, analyses, replays and damages captures, beginning with damaged samples.
// Nothing panics, and packet numbers are ones of the file.
func FuzzDamaged(f *testing.F) {
	all := damage.All()
	for i, d := range all {
		packets := sample(f, []string{"tail-one/a.pcapng.gz", "lost-rexmit/a.pcapng.gz", "no-sack/a.pcapng.gz"}[i%3])
		damaged, _, err := runDamage(d, packets[:min(len(packets), 120)], 1)
		if err != nil {
			f.Fatal(err)
		}
		var file bytes.Buffer
		out, err := pcapng.NewWriter(&file, "")
		if err == nil {
			_, err = out.AddInterface("", packets[0].LinkType)
		}
		for _, p := range damaged {
			if err == nil {
				err = out.WritePacket(0, p.Time, p.Data[:min(len(p.Data), 100)], p.Length, "")
			}
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes(), uint8(i))
	}
	f.Fuzz(func(t *testing.T, file []byte, kind uint8) {
		if len(file) > 1<<16 {
			t.Skip("more of the same")
		}
		r, err := capture.NewReader(bytes.NewReader(file), "fuzz")
		if err != nil {
			return
		}
		defer r.Close()
		packets, _ := damage.Load(r)
		damaged, _, err := runDamage(all[int(kind)%len(all)], packets, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(damaged) > 4*len(packets)+1000 {
			t.Skip("too long")
		}
		for _, packets := range []damage.Packets{packets, damaged} {
			rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, _ error) {
				for i := range c.Flows {
					for _, e := range c.Flows[i].Episodes {
						if e.DetectedPacket < 1 || e.DetectedPacket > int64(len(packets)) || e.AckedPacket > int64(len(packets)) {
							t.Fatalf("packets %d and %d of %d", e.DetectedPacket, e.AckedPacket, len(packets))
						}
					}
				}
			}})
			decode(packets, rec.Add, rec.ICMP)
			rec.Close()
		}
	})
}
