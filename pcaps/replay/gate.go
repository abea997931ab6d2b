package replay

import "time"

// Gate is why a loss is in no sum: the control does not repair it as the capture did, so that the
// replay shows nothing of it.
type Gate uint8

const (
	Passed       Gate = iota
	NotNeeded         // spurious, without a repair, or of a FIN alone
	NotFollowed       // the ends could not do what they did in the capture up to the loss
	NotRepaired       // the control does not repair it
	WrongTime         // the control repairs it at another time
	Insensitive       // the control's repair does not move with its retransmissions
	Undetermined      // fates that the capture does not show decide on the control's repair

	gates
)

var gateNames = [gates]string{
	"", "not needed, not repaired in the capture, or a FIN alone", "the replay could not follow the capture up to this loss",
	"retransmitted as captured, the loss is not repaired in the replay", "retransmitted as captured, the loss is repaired at another time in the replay",
	"the repair does not move when the retransmissions do", "packets decide on the repair whose fates the capture does not show",
}

// String returns the reason in words, "" for Passed.
func (g Gate) String() string { return gateNames[min(g, gates-1)] }

// The gate: how far the control's recovery time may be from the captured one.
const (
	gatePart = 10 // the captured time by this
	gateSpan = 2 * time.Millisecond
)

// nearTo reports whether a recovery time is as near to the captured one as the gate wants it.
func nearTo(took, captured time.Duration) bool {
	return (took - captured).Abs() <= max(captured/gatePart, gateSpan)
}

// sooner is the part of the captured gaps after which the control retransmits in its second run. Its
// repair is to move with its retransmission.
const sooner = 0.8

// moves reports whether the control's repair moved with its retransmission: the same transmission
// repaired the loss, and what followed its arrival took as long.
func moves(as, early *Recovery) bool {
	after := func(r *Recovery) time.Duration { return r.TRec - r.waited - r.transit }
	return early.Repaired && early.try == as.try && (after(as)-after(early)).Abs() <= max(as.TRec/gatePart, gateSpan)
}

// gate judges a loss by the control's two runs.
func gate(l *Loss, followed bool, as, early *Recovery) Gate {
	switch {
	case !l.Needed():
		return NotNeeded
	case !followed:
		return NotFollowed
	case !as.Repaired:
		return NotRepaired
	case !nearTo(as.TRec, l.TRec):
		return WrongTime
	case as.FilledIn || as.Beyond:
		return Undetermined
	case !moves(as, early):
		return Insensitive
	}
	return Passed
}
