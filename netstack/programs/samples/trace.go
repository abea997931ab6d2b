//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Causes of a retransmission.
const (
	causeSYN     = "syn"     // retransmission of a SYN or SYN-ACK
	causeRTO     = "rto"     // the retransmission timer
	causeTLP     = "tlp"     // the tail loss probe
	causeFast    = "fast"    // ACKs, or RACK with its timer
	causeUnknown = "unknown" // another caller
)

// retransmission is the retransmission of one packet of the kernel, which may leave as several
// segments.
type retransmission struct {
	Record string    `json:"record"` // "retransmission"
	At     time.Time `json:"at"`     // in UTC, to the microsecond, just after it was sent
	Src    string    `json:"src"`
	Dst    string    `json:"dst"`
	Cause  string    `json:"cause"`
	GoBack bool      `json:"go_back,omitempty"` // a timer expired before (Cause is rto)
	Timer  bool      `json:"timer,omitempty"`   // RACK's timer (Cause is fast)
}

// The kernel's numbers of its congestion avoidance states.
const (
	stateRecovery = "3"
	stateLoss     = "4"
)

// traced is an event of the trace whose stack follows.
type traced struct {
	retransmission
	state    string
	hasStack bool // its stack has been read
}

// parseTrace reads the kernel's trace. offset turns its times into nanoseconds since 1970.
func parseTrace(in io.Reader, offset int64) (all []retransmission, err error) {
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
		event := eventLine.FindStringSubmatch(line)
		if event == nil {
			if strings.Contains(line, "LOST") && strings.Contains(line, "EVENTS") {
				return nil, fmt.Errorf("the trace has lost events: %s", strings.TrimSpace(line))
			}
			continue
		}
		cpu, what := event[1], event[4]
		at, err := strconv.ParseInt(event[2]+event[3], 10, 64) // microseconds
		if err != nil {
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
			e := &traced{retransmission: retransmission{Record: "retransmission", At: time.Unix(0, at*1e3+offset).UTC(), Src: src, Dst: dst, Cause: causeUnknown}, state: states[src+dst]}
			if name == "tcp_retransmit_synack" || v["state"] == "TCP_SYN_SENT" {
				e.Cause = causeSYN
			}
			events = append(events, e)
			onCPU[cpu] = e
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	for _, e := range events {
		e.guess()
		all = append(all, e.retransmission)
	}
	return all, nil
}

// guess sets the cause of an event without a stack, as the idle task's events may be. In the state
// Loss, a timeout came before; in Recovery, ACKs or RACK are the cause; otherwise only a probe can
// be.
func (e *traced) guess() {
	switch {
	case e.Cause != causeUnknown || e.hasStack:
	case e.state == stateLoss:
		e.Cause = causeRTO
	case e.state == stateRecovery:
		e.Cause = causeFast
	default:
		e.Cause = causeTLP
	}
}

// called handles a function of the event's stack, the innermost first.
func (e *traced) called(frame string) {
	e.hasStack = true
	function, _, _ := strings.Cut(frame, ".") // as in tcp_xmit_retransmit_queue.part.0
	switch {
	case e.Cause == causeFast && !e.GoBack && function == "tcp_rack_reo_timeout":
		e.Timer = true
	case e.Cause != causeUnknown:
	case function == "tcp_retransmit_timer":
		e.Cause = causeRTO
	case function == "tcp_send_loss_probe":
		e.Cause = causeTLP
	case function == "tcp_xmit_retransmit_queue" && e.state == stateLoss:
		e.Cause, e.GoBack = causeRTO, true
	case function == "tcp_xmit_retransmit_queue":
		e.Cause = causeFast
	}
}

// eventLine is a line such as
//
//	name-42  [001] ..s2. 26741.472140: tcp_retransmit_skb: family=AF_INET …
//
// The name may contain anything.
var eventLine = regexp.MustCompile(`^.*? \[(\d+)\] \S+ +(\d+)\.(\d{6}): (.*)$`)

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
