package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Outcome is what came of a replay.
type Outcome struct {
	Policy string `json:"policy"`
	Key    Key    `json:"key"`

	Deliveries int        `json:"transmissions"`   // of octets, both ends
	Imputed    int        `json:"imputed"`         // whose fates the capture does not tell
	Drawn      int        `json:"drawn"`           // and that were drawn by chance
	Rexmits    int        `json:"retransmissions"` // those that are not the first of their octets
	Spurious   int        `json:"needless"`        // whose octets had arrived, or would
	Complete   bool       `json:"complete"`        // all was written and received that was captured
	Horizon    wheel.Time `json:"horizon"`         // the first fate that was drawn by chance: what comes after it is not told by the capture; 0 for none

	Recoveries []Recovery `json:"recoveries"` // one for each Loss of the script
	log        []Event
}

// Recovery is what became of the octets of a captured loss.
type Recovery struct {
	Sent    bool          `json:"sent"` // they were sent, and acknowledged
	Rexmits int           `json:"retransmissions"`
	D       time.Duration `json:"d_ns"` // to the first retransmission, 0 for none
	TRec    time.Duration `json:"t_rec_ns"`
	Beyond  bool          `json:"beyond"` // the horizon was passed before they were acknowledged
}

// MostImputed is the share of transmissions of which the capture may tell nothing. Beyond it there is no verdict.
const MostImputed = 0.05

// Share returns the part of the transmissions whose fate the capture does not tell.
func (o *Outcome) Share() float64 { return float64(o.Imputed) / float64(max(o.Deliveries, 1)) }

// Log returns the packets in the order in which they passed the point of capture.
func (o *Outcome) Log() []Event { return o.log }

// settle works the outcome out.
func (r *run) settle() {
	o := r.out
	a, b := r.apps[0], r.apps[1]
	o.Complete = a.finished() && b.finished() && a.received() == b.written() && b.received() == a.written()
	for _, p := range r.paths {
		for i := range p.sent {
			if p.sent[i].try > 1 {
				o.Rexmits++
			}
		}
	}
	tries := r.tries()
	for i := range r.script.Loss {
		o.Recoveries = append(o.Recoveries, r.recovery(&r.script.Loss[i], tries[i]))
	}
	o.log = r.log()
}

// recovery measures what became of the octets of a loss, of which these transmissions left then: from the transmission before that was sent
// again in the capture, to the ACK.
func (r *run) recovery(l *Loss, tries []wheel.Time) (rec Recovery) {
	if len(tries) == 0 {
		return rec
	}
	p := r.paths[l.Flow]
	before := min(l.Try, len(tries)) - 1
	begun := tries[before]
	if again := tries[before+1:]; len(again) > 0 {
		rec.D, rec.Rexmits = again[0].Sub(begun), len(again)
	}
	at, ok := p.acknowledged(l.End)
	if !ok {
		return rec
	}
	rec.Sent, rec.TRec = true, max(at.Sub(begun), 0)
	rec.Beyond = r.out.Horizon != 0 && at > r.out.Horizon
	return rec
}

// acknowledged returns when all octets before a place were acknowledged.
func (p *path) acknowledged(end uint64) (at wheel.Time, ok bool) {
	i, _ := slices.BinarySearchFunc(p.acks, spanOf(end), func(d Delay, to time.Duration) int { return cmp.Compare(d.Took, to) })
	if i == len(p.acks) {
		return 0, false
	}
	return p.acks[i].Sent, true
}

// log returns the packets as the point of capture sees them: those of the near end as they leave, the others only if they arrive.
func (r *run) log() []Event {
	var all []Event
	for _, p := range r.paths {
		all = append(all, p.log...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all
}
