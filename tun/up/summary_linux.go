package up

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
)

// Summary says in some lines what the host has done: packets, connections, what the emulated link
// lost, and what retransmissions repaired.
func (s *Host) Summary() []string {
	device, all := s.device.Stats(), s.stack.Stats().TCP
	lines := []string{fmt.Sprintf("%v: %s from the stack, %d to it; %s accepted, %d opened", time.Since(s.began).Round(100*time.Millisecond),
		quantity.Count(device.TxPackets, "packet"), device.RxPackets, quantity.Count(all.PassiveConnectionOpenings.Value(), "connection"),
		all.ActiveConnectionOpenings.Value())}
	if s.impaired != nil {
		counts := s.impaired.Counts()
		lines = append(lines, "the link lost "+droppedText(&counts[tun.There], " packets from the stack")+" and "+droppedText(&counts[tun.Back], " to it"))
	}
	for _, line := range s.scarce() {
		if line != "" {
			lines = append(lines, line)
		}
	}
	sent := all.Retransmits.Value()
	if c, ok := netstack.Counters(s.stack); ok {
		sent = c.RetransSegs // with SYNs
	}
	if sent == 0 {
		return append(lines, "the stack retransmitted nothing")
	}
	return append(lines, fmt.Sprintf("the stack retransmitted %s%s", quantity.Count(sent, "segment"), s.repairs()))
}

// scarce says what the host had too little of: the queue to the stack, and memory. A line is empty
// while there is enough.
func (s *Host) scarce() (lines [2]string) {
	if n, err := s.device.KernelDrops(); err == nil && n > 0 {
		lines[0] = fmt.Sprintf("the stack does not keep up: the kernel dropped %s to it, as its queue of %d was full",
			quantity.Count(n, "packet"), cmp.Or(s.config.TunQueue, DefaultTunQueue))
	}
	if b, ok := netstack.Buffers(s.stack); ok && b.Pressures > 0 {
		lines[1] = fmt.Sprintf("buffers exceeded two thirds of their %v; %s closed, data of %s refused",
			quantity.Size(b.Limit), quantity.Count(b.Aborted, "stalled connection"), quantity.Count(b.Refused, "segment"))
	}
	return lines
}

// sayWhatIsScarce logs each of these lines when it first has something to say.
func (s *Host) sayWhatIsScarce() {
	for i, line := range s.scarce() {
		if line != "" && !s.saidScarce[i] {
			s.saidScarce[i] = true
			s.config.log("%s", line)
		}
	}
}

// repairs says what caused retransmissions, and how long the recoveries took.
func (s *Host) repairs() string {
	var parts []string
	add := func(n uint64, what string) {
		if n > 0 {
			parts = append(parts, quantity.Count(n, what))
		}
	}
	if c, ok := netstack.Counters(s.stack); ok {
		add(c.TCPTimeouts, "timeout")
		add(c.TCPLossProbes, "tail loss probe")
		add(c.TCPSackRecovery+c.TCPRenoRecovery, "fast recovery")
		add(c.TCPSynRetrans, "SYN")
	} else {
		all := s.stack.Stats().TCP
		add(all.Timeouts.Value(), "timeout")
		add(all.TLPRecovery.Value(), "tail loss probe")
		add(all.SACKRecovery.Value()+all.FastRecovery.Value(), "fast recovery")
	}
	var text string
	if len(parts) > 0 {
		text = ": " + strings.Join(parts, ", ")
	}
	if s.observer == nil {
		return text
	}
	if n, median, most := s.observer.log.sum(); n > 0 {
		text += fmt.Sprintf("; %s took %v at the median, %v at most", quantity.Count(n, "repair"), threeDigits(median), threeDigits(most))
	}
	return text
}

// droppedText says what a direction of the link lost, by kind.
func droppedText(c *sim.LinkCounts, direction string) string {
	text := fmt.Sprintf("%d of %d%s", c.Lost+c.QueueDropped, c.Packets, direction)
	if c.QueueDropped > 0 {
		text += fmt.Sprintf(" (%d in a full queue)", c.QueueDropped)
	}
	return text
}

// threeDigits rounds a time for a reader.
func threeDigits(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= 100*time.Millisecond:
		return d.Round(time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}
