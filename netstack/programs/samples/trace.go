//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// Causes of a Retransmission.
const (
	CauseSYN     = "syn"     // retransmission of a SYN or SYN-ACK
	CauseRTO     = "rto"     // the retransmission timer
	CauseTLP     = "tlp"     // the tail loss probe
	CauseFast    = "fast"    // ACKs, or RACK with its timer
	CauseUnknown = "unknown" // another caller
)

// Retransmission is the retransmission of one packet of the kernel, which may leave as several
// segments.
type Retransmission struct {
	Record string `json:"record"` // "retransmission"
	At     int64  `json:"at_ns"`  // nanoseconds since 1970, to the microsecond, just after it was sent
	Src    string `json:"src"`
	Dst    string `json:"dst"`
	Cause  string `json:"cause"`
	GoBack bool   `json:"go_back,omitempty"` // a timer expired before (Cause is rto)
	Timer  bool   `json:"timer,omitempty"`   // RACK's timer (Cause is fast)
}

// The kernel's numbers of its congestion avoidance states.
const (
	stateRecovery = "3"
	stateLoss     = "4"
)

// traced is an event of the trace whose stack follows.
type traced struct {
	Retransmission
	state    string
	hasStack bool // its stack has been read
}

// parseTrace reads the kernel's trace. offset turns its times into nanoseconds since 1970.
func parseTrace(in io.Reader, offset int64) (all []Retransmission, err error) {
	var (
		scan   = bufio.NewScanner(in)
		events []*traced
		onCPU  = map[string]*traced{} // the last event of each
		states = map[string]string{}  // by connection
		under  *traced                // owns the stack lines being read
	)
	for scan.Scan() {
		line := scan.Text()
		if frame, ok := strings.CutPrefix(line, " => "); ok {
			if under != nil {
				under.called(strings.TrimSpace(frame))
			}
			continue
		}
		under = nil
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		cpu, at, what, ok := splitEvent(line)
		if !ok {
			if strings.Contains(line, "LOST") && strings.Contains(line, "EVENTS") {
				return nil, fmt.Errorf("samples: the trace has lost events: %s", strings.TrimSpace(line))
			}
			continue
		}
		if what == "<stack trace>" {
			under = onCPU[cpu]
			continue
		}
		delete(onCPU, cpu)
		name, rest, _ := strings.Cut(what, ": ")
		v := fieldsOf(rest)
		src, dst, ok := ends(v)
		if !ok {
			continue
		}
		switch name {
		case "tcp_cong_state_set":
			states[src+dst] = v["cong_state"]
		case "tcp_retransmit_skb", "tcp_retransmit_synack":
			e := &traced{Retransmission: Retransmission{Record: "retransmission", At: at + offset, Src: src, Dst: dst, Cause: CauseUnknown}, state: states[src+dst]}
			if name == "tcp_retransmit_synack" || v["state"] == "TCP_SYN_SENT" {
				e.Cause = CauseSYN
			}
			events = append(events, e)
			onCPU[cpu] = e
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("samples: trace: %w", err)
	}
	for _, e := range events {
		e.guess()
		all = append(all, e.Retransmission)
	}
	return all, nil
}

// guess sets the cause of an event without a stack, as the idle task's events may be. In the state
// Loss, a timeout came before; in Recovery, ACKs or RACK are the cause; otherwise only a probe can
// be.
func (e *traced) guess() {
	switch {
	case e.Cause != CauseUnknown || e.hasStack:
	case e.state == stateLoss:
		e.Cause = CauseRTO
	case e.state == stateRecovery:
		e.Cause = CauseFast
	default:
		e.Cause = CauseTLP
	}
}

// called handles a function of the event's stack, the innermost first.
func (e *traced) called(frame string) {
	e.hasStack = true
	function, _, _ := strings.Cut(frame, ".") // as in tcp_xmit_retransmit_queue.part.0
	switch {
	case e.Cause == CauseFast && !e.GoBack && function == "tcp_rack_reo_timeout":
		e.Timer = true
	case e.Cause != CauseUnknown:
	case function == "tcp_retransmit_timer":
		e.Cause = CauseRTO
	case function == "tcp_send_loss_probe":
		e.Cause = CauseTLP
	case function == "tcp_xmit_retransmit_queue" && e.state == stateLoss:
		e.Cause, e.GoBack = CauseRTO, true
	case function == "tcp_xmit_retransmit_queue":
		e.Cause = CauseFast
	}
}

// splitEvent splits a line such as
//
//	name-42  [001] ..s2. 26741.472140: tcp_retransmit_skb: family=AF_INET …
//
// The name may contain anything.
func splitEvent(line string) (cpu string, at int64, what string, ok bool) {
	i := strings.Index(line, " [")
	for i >= 0 {
		rest := line[i+2:]
		cpu, rest, ok = strings.Cut(rest, "] ")
		if _, err := strconv.Atoi(cpu); ok && err == nil {
			_, rest, _ = strings.Cut(rest, " ") // flags
			stamp, what, _ := strings.Cut(strings.TrimLeft(rest, " "), ": ")
			seconds, micros, _ := strings.Cut(stamp, ".")
			s, err1 := strconv.ParseInt(seconds, 10, 64)
			us, err2 := strconv.ParseInt(micros, 10, 64)
			if err1 != nil || err2 != nil || len(micros) != 6 {
				return "", 0, "", false
			}
			return cpu, s*1e9 + us*1e3, what, true
		}
		next := strings.Index(line[i+2:], " [")
		if next < 0 {
			break
		}
		i += 2 + next
	}
	return "", 0, "", false
}

// fieldsOf splits name=value pairs.
func fieldsOf(text string) map[string]string {
	v := map[string]string{}
	for _, f := range strings.Fields(text) {
		if name, value, ok := strings.Cut(f, "="); ok {
			v[name] = value
		}
	}
	return v
}

// ends returns the addresses of an event's connection.
func ends(v map[string]string) (src, dst string, ok bool) {
	var out [2]string
	for i, f := range [2][3]string{{"saddr", "saddrv6", "sport"}, {"daddr", "daddrv6", "dport"}} {
		a, err := netip.ParseAddr(v[f[1]])
		if err != nil {
			return "", "", false
		}
		port, err := strconv.ParseUint(v[f[2]], 10, 16)
		if err != nil {
			return "", "", false
		}
		out[i] = netip.AddrPortFrom(a.Unmap(), uint16(port)).String()
	}
	return out[0], out[1], true
}
