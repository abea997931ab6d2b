//go:build !js

package cli

import (
	"bytes"
	"fmt"
	"strings"

	"tcpwheel/internal/record"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
)

// views are the reported sums and their thresholds.
var views = []struct {
	name  string
	want  func(truth.Class) bool
	kinds float64 // least percentage; 0 is none
	dsack bool    // leastVerdicts applies
}{
	{"sender, all", func(c truth.Class) bool { return c.Side == truth.SenderSide }, 99, false},
	{"sender, SACK", func(c truth.Class) bool { return c.Side == truth.SenderSide && c.SACK }, 0, true},
	{"middle, all", func(c truth.Class) bool { return c.Side == truth.OnTheWay }, 0, false},
	{"middle, SACK", func(c truth.Class) bool { return c.Side == truth.OnTheWay && c.SACK }, 0, false},
	{"receiver, timestamps", func(c truth.Class) bool { return c.Side == truth.ReceiverSide && c.Timestamps }, 97, false},
	{"receiver, SACK", func(c truth.Class) bool { return c.Side == truth.ReceiverSide && c.SACK }, 0, false},
	{"receiver, all", func(c truth.Class) bool { return c.Side == truth.ReceiverSide }, 0, false},
}

// leastVerdicts is the least percentage of right verdicts with DSACK.
const leastVerdicts = 99

func kindsOf(f *truth.FlowShares) truth.Part     { return f.Kinds }
func precisionOf(f *truth.FlowShares) truth.Part { return f.Precision }
func recallOf(f *truth.FlowShares) truth.Part    { return f.Recall }

// viewRecord is a view as JSON. Kinds are in the order of their names. Rows are the truth, columns
// the findings; the last of each is none. The columns of tshark's tables are its labels.
type viewRecord struct {
	Type      string          `json:"type"` // "accuracy"
	Origin    string          `json:"origin" help:"simulator, samples, directories or kernels"`
	View      string          `json:"view" head:"captured at the" help:"where, and of which connections"`
	Scenarios int             `json:"scenarios"`
	Unmatched int             `json:"unmatched" help:"retransmissions that a kernel's trace does not explain"`
	Kinds     []string        `json:"kinds"`
	Episodes  truth.Confusion `json:"episodes"`
	Packets   truth.Confusion `json:"packets"`
	InPlace   int             `json:"in_place"`
	Verdicts  truth.Verdicts  `json:"verdicts"` // rows no and yes; columns unknown, no, yes
	Right     float64         `json:"right_percent" help:"episodes of the right kind"`
	Precision float64         `json:"spurious_precision_percent" help:"of what was called spurious, what is"`
	Recall    float64         `json:"spurious_recall_percent" help:"of what is spurious, what was called so"`

	// 95% intervals: from, to.
	RightInterval     [2]float64 `json:"right_interval_percent"`
	PrecisionInterval [2]float64 `json:"spurious_precision_interval_percent"`
	RecallInterval    [2]float64 `json:"spurious_recall_interval_percent"`

	// What people read in a table.
	N          int    `json:"-" head:"episodes"`
	KindsText  string `json:"-" head:"kinds right, %" cell:"number"`
	SpuriousOf string `json:"-" head:"spurious:\nprecision, %" cell:"number"`
	OfSpurious string `json:"-" head:"spurious:\nrecall, %" cell:"number"`

	Labels         []string             `json:"tshark_labels,omitempty"`
	LabelKinds     *truth.LabelTable    `json:"tshark_packets,omitempty"`
	LabelsSpurious *truth.LabelVerdicts `json:"tshark_spurious,omitempty"` // by label
}

func (a *assessment) record(o *origin, view string, t *truth.Tally) viewRecord {
	r := viewRecord{
		Type: "accuracy", Origin: o.name, View: view, Scenarios: o.n, Unmatched: o.unmatched, Episodes: t.Episodes, Packets: t.Packets,
		InPlace: t.InPlace, Verdicts: t.Verdicts, Right: t.Kinds(), Precision: t.Verdicts.Precision(), Recall: t.Verdicts.Recall(),
	}
	_, r.N = t.Episodes.Right()
	for k := range track.Kinds {
		r.Kinds = append(r.Kinds, track.Kind(k).String())
	}
	for i, of := range []func(*truth.FlowShares) truth.Part{kindsOf, precisionOf, recallOf} {
		s := t.Share(of)
		*[]*[2]float64{&r.RightInterval, &r.PrecisionInterval, &r.RecallInterval}[i] = [2]float64{s.Low, s.High}
		*[]*string{&r.KindsText, &r.SpuriousOf, &r.OfSpurious}[i] = shareText(s)
	}
	if a.tshark != "" && t.Labels.Any() {
		r.Labels, r.LabelKinds, r.LabelsSpurious = truth.LabelNames(), &t.Labels.Kinds, &t.Labels.Verdicts
	}
	return r
}

func (a *assessment) write() error {
	if a.asJSON {
		enc := newJSONLines(a.stdout)
		for _, o := range a.origins {
			for _, v := range views {
				if err := enc.Encode(a.record(o, v.name, o.sum.Sum(v.want))); err != nil {
					return err
				}
			}
		}
		if err := a.writeReplaysJSON(enc); err != nil {
			return err
		}
		return a.writeDamagesJSON(enc)
	}
	var b bytes.Buffer
	a.writeVerdict(&b)
	for _, o := range a.origins {
		a.writeOrigin(&b, o)
	}
	for _, o := range a.replays {
		o.write(&b, a.differences)
	}
	for i := range a.tables {
		if err := a.tables[i].write(&b, a.differences); err != nil {
			return err
		}
	}
	if !a.details {
		b.WriteString("--details also prints what was found for each kind.\n")
		_, err := a.stdout.Write(b.Bytes())
		return err
	}
	for _, o := range a.origins {
		for _, v := range views {
			t := o.sum.Sum(v.want)
			if _, all := t.Episodes.Right(); all == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n%s, captured at the %s\n", o.name, v.name)
			t.Write(&b)
		}
	}
	_, err := a.stdout.Write(b.Bytes())
	return err
}

// writeVerdict writes the answer first: whether all bounds hold, and the shares that they bound.
func (a *assessment) writeVerdict(b *bytes.Buffer) {
	if err := a.judge(); err != nil {
		writeWrapped(b, "", fmt.Sprintf("A bound does not hold: %v.", err))
	} else {
		b.WriteString("All bounds hold.\n")
	}
	for _, o := range a.origins {
		var parts []string
		for _, v := range views {
			t := o.sum.Sum(v.want)
			if _, all := t.Episodes.Right(); all == 0 {
				continue
			}
			if v.kinds > 0 {
				parts = append(parts, fmt.Sprintf("%.1f %% of the kinds captured at the %s (want %v %%)", t.Kinds(), v.name, v.kinds))
			}
			if v.dsack {
				parts = append(parts, fmt.Sprintf("%.1f %% of the verdicts with DSACK there (want %v %%)",
					min(t.Verdicts.Precision(), t.Verdicts.Recall()), leastVerdicts))
			}
		}
		if len(parts) > 0 {
			writeWrapped(b, "", fmt.Sprintf("%s: right are %s.", o.name, strings.Join(parts, ", ")))
		}
	}
	for _, o := range a.replays {
		if wrong, known, share := o.sum.Wrong(); known > 0 {
			writeWrapped(b, "", fmt.Sprintf("replay, %s: %d of %d verdicts whose truth is known are false, %.1f %% (want %d %% at most).",
				o.name, wrong, known, share.Percent, mostFalse))
		}
	}
	b.WriteString("\n")
}

// writeOrigin writes a line for each view: the share that is right, with its interval.
func (a *assessment) writeOrigin(b *bytes.Buffer, o *origin) {
	fmt.Fprintf(b, "%s: %d %s", o.name, o.n, o.what)
	if o.name != "simulator" {
		fmt.Fprintf(b, "; the kernel's trace does not explain %d retransmissions", o.unmatched)
	}
	b.WriteString("\n" + viewLayout.Head())
	for _, v := range views {
		if r := a.record(o, v.name, o.sum.Sum(v.want)); r.N > 0 {
			b.WriteString(viewLayout.Row(&r))
		}
	}
	fmt.Fprintln(b)
}

var viewLayout = record.NewLayout[viewRecord]("%-20view%8N%17KindsText%17SpuriousOf%17OfSpurious")

// shareText returns a share and its interval in percent: "99.4 99.1-99.6".
func shareText(s truth.Share) string {
	return fmt.Sprintf("%.1f %.1f-%.1f", s.Percent, s.Low, s.High)
}

// judge returns a violation if a share is below its threshold.
func (a *assessment) judge() error {
	for _, o := range a.origins {
		for _, v := range views {
			t := o.sum.Sum(v.want)
			if right, all := t.Episodes.Right(); all-right > 1 && t.Kinds() < v.kinds {
				return &violation{fmt.Errorf("%s, %s: %.2f %% of the kinds are right, want %v %%", o.name, v.name, t.Kinds(), v.kinds)}
			}
			if p := min(t.Verdicts.Precision(), t.Verdicts.Recall()); v.dsack && p < leastVerdicts {
				return &violation{fmt.Errorf("%s, %s: %.2f %% of the verdicts with DSACK, want %v %%", o.name, v.name, p, leastVerdicts)}
			}
		}
	}
	for _, o := range a.replays {
		if err := o.judge(); err != nil {
			return err
		}
	}
	for i := range a.tables {
		if err := a.tables[i].judge(); err != nil {
			return err
		}
	}
	return nil
}
