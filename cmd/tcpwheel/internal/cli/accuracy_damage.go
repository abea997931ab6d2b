//go:build !js

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/truth"
)

// damageForm is how many captures the table of damages has.
type damageForm struct {
	simulated int
	replayed  int // most packets of a capture that is replayed
	middle    bool
	seeds     int // 45 trials of replay each
	perTrial  int // damages of a trial; 0 is all
}

// damageForms are the values of --damage.
var damageForms = map[string]*damageForm{
	"none":  {},
	"short": {simulated: 9, replayed: 1500, seeds: 1, perTrial: 1},
	"long":  {simulated: 45, replayed: 20_000, middle: true, seeds: 1},
}

// damages makes the table of damages.
func (a *assessment) damages(ctx context.Context) error {
	form := damageForms[a.damage]
	if a.damage == "none" {
		return nil
	}
	all, err := parseDamages(a.damageKinds)
	if err != nil {
		return err
	}
	table := func(name string) *truth.DamageTable {
		t := &truth.DamageTable{Damages: all, Seed: a.seed, Replayed: form.replayed}
		a.tables = append(a.tables, damageTable{name, t})
		return t
	}
	simulated := table("simulator")
	err = truth.SimulatedCaptures(form.simulated, a.seed*trialSeeds, func(name string, all damage.Packets) error {
		return simulated.Add(ctx, name, all)
	})
	if err == nil {
		err = a.damagedTrials(ctx, all, form)
	}
	kernels := table("samples")
	for _, s := range samples.List() {
		for _, name := range s.Captures {
			if err != nil || !form.middle && strings.Contains(name, "middle") {
				continue
			}
			in, e := samples.Open(name)
			if err = e; err == nil {
				err = kernels.AddFile(ctx, in, name)
				in.Close()
			}
		}
	}
	if err != nil || a.captures == "" {
		return err
	}
	captures := table("captures")
	return a.eachCapture(ctx, "damaged", func(f io.Reader, name string) error { return captures.AddFile(ctx, f, name) })
}

// damagedTrials judges replays of simulated captures that are damaged.
func (a *assessment) damagedTrials(ctx context.Context, all []*damage.Damage, form *damageForm) error {
	t := &truth.Trials{Seeds: form.seeds, First: a.seed*trialSeeds + trialSeeds/2, Damages: all, PerTrial: form.perTrial}
	sum, n, err := t.Run(ctx)
	if err == nil {
		a.replays = append(a.replays, &replayOrigin{name: damagedOrigin, what: "trials", n: n, sum: sum})
	}
	return err
}

// damagedOrigin is the name of replays of damaged captures, and mostFalseDamaged how many of their
// verdicts may be false: fewer than one in so many.
const (
	damagedOrigin    = "simulator, damaged on purpose"
	mostFalseDamaged = 1000
)

// parseDamages reads damages. None are all that accuracy tries.
func parseDamages(texts []string) (all []*damage.Damage, err error) {
	for _, text := range texts {
		d, err := damage.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		all = damage.All()
	}
	return all, nil
}

// damageTable is a table of damages of an origin.
type damageTable struct {
	origin string
	*truth.DamageTable
}

// damageRowRecord is a row of the table as JSON.
type damageRowRecord struct {
	Type   string `json:"type"` // "damage_row"
	Origin string `json:"origin"`
	*truth.DamageRow
}

// damageColumns are those of the table.
const damageColumns = "damage episodes damaged_episodes invented changed_kind changed_need changed_times captures_lost_grew verdicts verdicts_flipped refusals_decided panics"

// write writes the table.
func (t *damageTable) write(b *bytes.Buffer, details bool) error {
	fmt.Fprintf(b, "damaged on purpose, %s: %d captures, %d replayed\n", t.origin, t.Files, t.Again)
	if err := writeFields(b, damageColumns, t.Rows); err != nil {
		return err
	}
	for i := range t.Rows {
		for _, f := range t.Rows[i].Findings {
			if details {
				fmt.Fprintf(b, "%s, %s: %s, packet %d (%d): %s\n", f.File, f.Damage, f.What, f.Packet, f.Damaged, f.Says)
			}
		}
	}
	b.WriteByte('\n')
	return nil
}

func (a *assessment) writeDamagesJSON(enc *json.Encoder) error {
	for _, t := range a.tables {
		for i := range t.Rows {
			if err := enc.Encode(damageRowRecord{"damage_row", t.origin, &t.Rows[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge returns a violation if a damage moves what it must not.
func (t *damageTable) judge() error {
	for i := range t.Rows {
		if err := t.Rows[i].Check(); err != nil {
			return &violation{fmt.Errorf("damaged on purpose, %s: %w", t.origin, err)}
		}
	}
	return nil
}
