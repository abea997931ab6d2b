package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

// episode is the current or last reduction of the congestion window.
type episode struct {
	kind       CAState
	undoable   bool  // past says how to find out that it was spurious
	byTimeout  bool  // it began with a timeout
	forceFirst bool  // its first retransmission is still to be sent
	resent     bool  // Follower.Resend began it, and it lasts
	tooBig     bool  // past.tooBigEnd is valid and not yet acknowledged
	frtoCredit uint8 // new segments that F-RTO still allows
	recover    Seq   // SND.NXT when it began
}

// past is what a sender remembers of losses and congestion marks, and of closed windows.
type past struct {
	eifel      congestion.Eifel
	dsack      congestion.DSACK
	startUna   Seq        // SND.UNA when the last episode began, if it is undoable
	tooBigEnd  Seq        // SND.NXT at the last ICMP Packet Too Big
	spuriousAt wheel.Time // when a timeout was found spurious

	closedAt wheel.Time // when the peer's window closed, or Close was called since; 0 if it is open

	pacer congestion.Pacer
	vegas *vegasCheck // Config.VegasCheck, from the first ACK on

	// Statistics, for Info.
	rexmitBytes uint64
	rexmits     uint32
	dsacks      uint32
	deliveredCE uint32
}

// needPast returns what snd remembers, allocated on first use.
func (snd *sender) needPast() *past {
	if snd.past == nil {
		snd.past = new(past)
	}
	return snd.past
}
