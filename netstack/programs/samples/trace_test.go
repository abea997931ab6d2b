//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// traceLine is an event as the kernel writes it, between the ends of a connection.
func traceLine(cpu int, at, event, more string) string {
	return fmt.Sprintf("  a [b] %d-42  [%03d] ..s2. %s: %s: family=AF_INET sport=100 dport=200 saddr=10.0.0.1 daddr=10.0.0.2 "+
		"saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 %s\n", cpu, cpu, at, event, more)
}

// stackOf is the stack of the previous event, through these functions.
func stackOf(cpu int, at string, functions ...string) string {
	text := fmt.Sprintf("  a [b] %d-42  [%03d] ..s2. %s: <stack trace>\n => __tcp_retransmit_skb\n", cpu, cpu, at)
	for _, f := range functions {
		text += " => " + f + "\n"
	}
	return text
}

func TestCausesAreReadFromStacks(t *testing.T) {
	const established = "state=TCP_ESTABLISHED err=0"
	resent := func(cpu int, at string) string { return traceLine(cpu, at, "tcp_retransmit_skb", established) }
	state := func(cpu int, at, ca string) string {
		return traceLine(cpu, at, "tcp_cong_state_set", "cong_state="+ca) + stackOf(cpu, at, "tcp_set_ca_state")
	}
	for _, test := range []struct {
		name, trace string
		want        []string
	}{
		{"nothing", "# tracer: nop\n#\n\n", nil},
		{"timeout", state(0, "1.000001", "4") + resent(0, "1.000002") + stackOf(0, "1.000003", "tcp_retransmit_timer", "tcp_write_timer"), []string{"rto"}},
		{"go-back-N after it", state(0, "1.000001", "4") + resent(0, "1.000002") + stackOf(0, "1.000003", "tcp_xmit_retransmit_queue.part.0", "tcp_ack"),
			[]string{"rto go-back"}},
		{"ACKs", state(0, "1.000001", "3") + resent(0, "1.000002") + stackOf(0, "1.000003", "tcp_xmit_retransmit_queue", "tcp_ack"), []string{"fast"}},
		{"RACK's timer", resent(0, "1.000002") + stackOf(0, "1.000003", "tcp_xmit_retransmit_queue.part.0", "tcp_rack_reo_timeout"), []string{"fast timer"}},
		{"probe", resent(0, "1.000002") + stackOf(0, "1.000003", "tcp_send_loss_probe"), []string{"tlp"}},
		{"SYN", traceLine(0, "1.000002", "tcp_retransmit_skb", "state=TCP_SYN_SENT err=0") + stackOf(0, "1.000003", "tcp_retransmit_timer"), []string{"syn"}},
		{"SYN-ACK", traceLine(0, "1.000002", "tcp_retransmit_synack", "") + stackOf(0, "1.000003", "reqsk_timer_handler"), []string{"syn"}},
		{"two processors", resent(0, "1.000002") + resent(1, "1.000003") + stackOf(0, "1.000004", "tcp_send_loss_probe") +
			stackOf(1, "1.000005", "tcp_retransmit_timer"), []string{"tlp", "rto"}},
		{"a stack of something else", resent(0, "1.000002") + stackOf(0, "1.000003", "somebody"), []string{"unknown"}},
		{"no stack, Open", resent(0, "1.000002"), []string{"tlp"}},
		{"no stack, Recovery", state(0, "1.000001", "3") + resent(0, "1.000002"), []string{"fast"}},
		{"no stack, Loss", state(0, "1.000001", "4") + resent(0, "1.000002"), []string{"rto"}},
		{"not an event", "what [is] this: line=1\n 1-1 [000] .. x.y: z: saddrv6=\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			all, err := parseTrace(strings.NewReader(test.trace), 5)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range all {
				what := r.Cause
				if r.GoBack {
					what += " go-back"
				}
				if r.Timer {
					what += " timer"
				}
				got = append(got, what)
				if r.Src != "10.0.0.1:100" || r.Dst != "10.0.0.2:200" || r.At.UnixMicro() != 1_000_002 && r.At.UnixMicro() != 1_000_003 || r.At.Nanosecond()%1000 != 5 {
					t.Errorf("got %+v", r)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := parseTrace(strings.NewReader("CPU:0 [LOST 12 EVENTS]\n"), 0); err == nil {
		t.Error("a trace that has lost events is an error")
	}
}

// FuzzParseTrace: no trace makes it panic.
func FuzzParseTrace(f *testing.F) {
	f.Add(traceLine(0, "1.000002", "tcp_retransmit_skb", "state=TCP_ESTABLISHED") + stackOf(0, "1.000003", "tcp_retransmit_timer"))
	f.Add(" [ [000] . 9.999999: <stack trace>\n => \n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = parseTrace(strings.NewReader(text), 0)
	})
}
