package lanes

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// segmentBytes is the data of a full segment, in all lanes.
const segmentBytes = 1448

// userLoss is a loss that an action caused. Each lane loses the same bytes when it sends them for
// the first time.
type userLoss struct {
	at    wheel.Time // of the action
	what  string
	conn  int
	first uint64   // the first byte of the response
	end   uint64   // past its last byte
	bytes []uint64 // a packet with one of these is lost
	lanes []LossOutcome
}

// LossOutcome is what a lane made of a userLoss. Times are 0 until they are known.
type LossOutcome struct {
	Lost     seconds `json:"lost_s"`     // its first packet was dropped
	Again    seconds `json:"again_s"`    // the last retransmission left
	Repaired seconds `json:"repaired_s"` // the sender knows that all has arrived
	By       string  `json:"by"`         // what retransmitted, in order
	Span     seconds `json:"for_s"`      // how long By's first timer was set for, or 0
	Segment  bool    `json:"segment"`    // it was the segment's own
}

// LossView is a userLoss on a page.
type LossView struct {
	At    seconds       `json:"at_s"`
	What  string        `json:"what"`
	Conn  int           `json:"conn"`
	Lanes []LossOutcome `json:"lanes"`
}

// keptLosses is how many of the latest losses of the user a page shows.
const keptLosses = 5

// aim makes the next response that no lane has begun lose its first n packets, or its last n. The
// link loses nothing else of it, so that what repairs it is the same each time.
func (r *Run) aim(n int, tail bool) {
	index, number, soonest := -1, 0, wheel.Time(0)
	for i, plan := range r.plans {
		next := r.aimed[i]
		for _, l := range r.Lanes {
			next = max(next, l.asked[i])
		}
		at := r.now.Add(time.Duration(next-len(plan.due)+1) * time.Minute) // it waits for another one
		if next < len(plan.due) {
			at = plan.due[next]
		}
		if index < 0 || at < soonest {
			index, number, soonest = i, next, at
		}
	}
	best := r.plans[index].request(number)
	r.aimed[index] = number + 1
	size := best.end - best.start
	packets := int((size + segmentBytes - 1) / segmentBytes)
	n = min(n, packets)
	loss := &userLoss{at: r.now, conn: webPort0 + index, first: best.start, end: best.end, lanes: make([]LossOutcome, len(r.Lanes))}
	for i := range uint64(n) {
		if tail {
			loss.bytes = append(loss.bytes, best.end-1-i*segmentBytes)
		} else {
			loss.bytes = append(loss.bytes, best.start+i*segmentBytes)
		}
	}
	which := "first"
	if tail {
		which = "last"
	}
	if n == 1 {
		loss.what = fmt.Sprintf("the %s of %d packets of a response to web %d", which, packets, index+1)
	} else {
		loss.what = fmt.Sprintf("the %s %d of %d packets of a response to web %d", which, n, packets, index+1)
	}
	if n == packets {
		loss.what = fmt.Sprintf("the whole response to web %d, %s", index+1, quantity.Count(packets, "packet"))
	}
	r.losses = append(r.losses, loss)
}

// hitBy reports whether a lane loses new data of a connection by an action.
func (r *Run) hitBy(lane, conn int, s span) bool {
	for _, l := range r.losses {
		if l.conn != conn || s.start >= l.end || s.end <= l.first {
			continue
		}
		for _, b := range l.bytes {
			if s.start <= b && b < s.end {
				if l.lanes[lane].Lost == 0 {
					l.lanes[lane].Lost = seconds(r.Lanes[lane].net.Now())
				}
				return true
			}
		}
	}
	return false
}

// spares reports whether data is part of a response with a loss by an action.
func (r *Run) spares(conn int, s span) bool {
	for _, l := range r.losses {
		if l.conn == conn && s.start < l.end && l.first < s.end {
			return true
		}
	}
	return false
}

// sentAgain notes a retransmission of a lane for the losses by actions that it repairs.
func (r *Run) sentAgain(lane, conn int, x *Transmission) {
	for _, l := range r.losses {
		o := &l.lanes[lane]
		if l.conn != conn || o.Lost == 0 || o.Repaired != 0 || !l.lostIn(x.Start, x.End) {
			continue
		}
		switch {
		case o.By == "":
			o.By, o.Span, o.Segment = x.By, x.Span, x.Own
		case !strings.HasSuffix(o.By, x.By) && len(o.By) < 100:
			o.By += ", then " + x.By
		}
		o.Again = x.At
	}
}

// lostIn reports whether [start, end) has a byte that was to be lost.
func (l *userLoss) lostIn(start, end uint64) bool {
	for _, b := range l.bytes {
		if start <= b && b < end {
			return true
		}
	}
	return false
}

// acknowledged notes how far a lane's server knows its data to have arrived.
func (r *Run) acknowledged(lane, conn int, now wheel.Time, upTo uint64) {
	for _, l := range r.losses {
		o := &l.lanes[lane]
		if l.conn == conn && o.Lost != 0 && o.Repaired == 0 && l.top() < upTo {
			o.Repaired = seconds(now)
		}
	}
}

// top returns the last byte that was to be lost.
func (l *userLoss) top() (most uint64) {
	for _, b := range l.bytes {
		most = max(most, b)
	}
	return most
}

// lossViews returns the latest losses of the user, the newest first.
func (r *Run) lossViews() (all []LossView) {
	for i := len(r.losses) - 1; i >= 0 && len(all) < keptLosses; i-- {
		l := r.losses[i]
		all = append(all, LossView{seconds(l.at), l.what, l.conn, append([]LossOutcome(nil), l.lanes...)})
	}
	return all
}

// LossText says in a sentence for each lane what became of the user's latest loss, "" without one.
func (r *Run) LossText() string {
	if len(r.losses) == 0 {
		return ""
	}
	l := r.losses[len(r.losses)-1]
	text := "You lost " + l.what + ":\n"
	for i, lane := range r.Lanes {
		o := &l.lanes[i]
		switch {
		case o.Lost == 0:
			text += fmt.Sprintf("  %-17s has not sent it yet\n", lane.Label)
		case o.Repaired == 0 && o.Again == 0:
			text += fmt.Sprintf("  %-17s waits for %s now\n", lane.Label, track.SpanText(seconds(r.now).since(o.Lost)))
		case o.Repaired == 0:
			text += fmt.Sprintf("  %-17s retransmitted after %s by %s\n", lane.Label, track.SpanText(o.Again.since(o.Lost)), o.By)
		default:
			text += fmt.Sprintf("  %-17s repaired in %s by %s%s\n", lane.Label, track.SpanText(o.Repaired.since(o.Lost)), o.By, o.timerText())
		}
	}
	return text
}

// timerText says for how long the timer of a repair was set, "" without one.
func (o *LossOutcome) timerText() string {
	if o.Span == 0 {
		return ""
	}
	return ", which was set for " + track.SpanText(time.Duration(o.Span))
}
