package track

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestSentences words sums of losses: each count has its sentence, and none where it is 0.
func TestSentences(t *testing.T) {
	router := netip.MustParseAddr("192.0.2.9")
	for _, test := range []struct {
		name string
		sum  Losses
		want []string
	}{
		{"none", Losses{Conns: 3}, []string{"No loss."}},
		{"lost", Losses{Conns: 2, Time: time.Minute, Episodes: 3, Stalls: 1, TimeLost: time.Second},
			[]string{"1.00 s were lost in 1 stall of 2 connections that lasted 60.0 s together, none of it waiting for timers."}},
		{"spurious", Losses{Conns: 1, Episodes: 2, Spurious: 2}, []string{"No time was lost: the retransmissions of 2 episodes were unnecessary."}},
		{"unmeasured", Losses{Conns: 1, Episodes: 1, Unmeasured: [Gaps]int{NoACKGap: 1}}, []string{
			"The cost of 1 loss episode cannot be measured.",
			"1 loss episode cannot be measured, because the capture lacks ACKs: it has no ACK without data."}},
		{"never established", Losses{Conns: 9, Outcomes: [Outcomes]int{Refused: 2, Unanswered: 3}}, []string{
			"No loss.", "5 of 9 connections were never established: 3 unanswered, 2 refused."}},
		{"unreachable", Losses{Conns: 1, Outcomes: [Outcomes]int{Unreachable: 1}, unreachableBy: router, byOthers: true}, []string{
			"No loss.", "1 of 1 connection were never established: 1 unreachable (by ICMP of 192.0.2.9 and others)."}},
		{"twins", Losses{Conns: 1, Twins: 1}, []string{
			"No loss.", "1 connection was captured at two places, as on both sides of a NAT: each counts once."}},
		{"never repaired", Losses{Conns: 1, Episodes: 1, NeverRepaired: 1, Unrepaired: time.Second}, []string{
			"No time was lost in 1 loss episode.", "1 loss was never repaired: data waited for 1.00 s until the connection or its capture ended."}},
		{"incomplete", Losses{Conns: 1, Captured: [2]int64{90, 300}, Lacking: [2]int64{10, 0}}, []string{
			"No loss.", "The capture lacks at least 10 of the 100 packets of clients (10 %)."}},
		{"incomplete in both directions", Losses{Conns: 1, Captured: [2]int64{90, 299}, Lacking: [2]int64{10, 1}}, []string{
			"No loss.", "The capture lacks at least 10 of the 100 packets of clients (10 %), and 1 of the 300 packets of servers (0.33 %)."}},
	} {
		if got, want := strings.Join(test.sum.Sentences(), "\n"), strings.Join(test.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", test.name, got, want)
		}
	}
}
