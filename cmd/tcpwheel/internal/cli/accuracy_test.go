package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
)

// TestAccuracyGate fails below a threshold, unless only one is wrong.
func TestAccuracyGate(t *testing.T) {
	sender := truth.Class{Side: truth.SenderSide, SACK: true, Timestamps: true}
	receiver := truth.Class{Side: truth.ReceiverSide, Timestamps: true}
	for _, test := range []struct {
		name    string
		class   truth.Class
		wrong   int // of 100 episodes
		missed  int // of 100 spurious retransmissions
		problem string
	}{
		{"right", sender, 0, 0, ""},
		{"a single error", sender, 1, 1, ""},
		{"kinds at the sender", sender, 2, 0, "samples, sender, all: 98.00 % of the kinds are right, want 99 %"},
		{"verdicts at the sender", sender, 0, 2, "samples, sender, SACK: 98.00 % of the verdicts with DSACK, want 99 %"},
		{"three at the receiver", receiver, 3, 2, ""},
		{"four at the receiver", receiver, 4, 0, "samples, receiver, timestamps: 96.00 % of the kinds are right, want 97 %"},
	} {
		s := &truth.Tally{}
		s.Episodes[track.RTO][track.RTO], s.Episodes[track.RTO][track.Fast] = 100-test.wrong, test.wrong
		s.Verdicts[1][track.Spurious], s.Verdicts[1][track.Necessary] = 100-test.missed, test.missed
		a := &assessment{}
		a.origin("samples", "scenarios").sum[test.class] = s
		err := a.judge()
		var v *violation
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("%s: %v, want none", test.name, err)
		case test.problem != "" && (!errors.As(err, &v) || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: %v, want %q", test.name, err, test.problem)
		}
	}
}

// TestAccuracyEnds stops at an interruption.
func TestAccuracyEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{}, {"--simulated", "0"}, {"../../../../pcaps/samples/burst"}} {
		var out bytes.Buffer
		cmd := newRoot(append([]string{"accuracy", "--no-tshark"}, args...), nil, &out, io.Discard)
		if err := cmd.ExecuteContext(ctx); err != context.Canceled || out.Len() > 0 {
			t.Errorf("%q: %v, %q, want %v and nothing", args, err, &out, context.Canceled)
		}
	}
}

// TestAccuracyNotJudged: the text and the JSON list verdicts whose truth has more noise than
// effect, with the machine's lateness. They are not false.
func TestAccuracyNotJudged(t *testing.T) {
	o := &replayOrigin{name: "kernels", what: "trials", n: 1, sum: &truth.Replays{Verdicts: []truth.Judged{
		{
			Trial: "linux twins 1", Policy: "bsd", Side: truth.OnTheWay, Verdict: "saves", Losses: 5, Compared: 5, Saved: time.Second,
			Really: -time.Second, Noise: 2 * time.Second, Late: 30 * time.Millisecond,
		},
		{Trial: "linux twins 1", Policy: "rfc6298", Verdict: "saves", Losses: 5, Compared: 5, Saved: time.Second, Really: time.Second},
	}}}
	var text, records bytes.Buffer
	o.write(&text, false)
	const want = "2 verdicts save or cost, the truth of 1 is known, and 0 are false: 0.0 % (0.0 to 79.3)\n" +
		"not judged: the machine was late by 30.0 ms, two runs under the same timers differ by\n" +
		"  2.00 s, others by 1.00 s: linux twins 1, bsd, captured at the middle\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("%s\nwant %s", &text, want)
	}
	if err := newJSONLines(&records).Encode(o.verdicts()); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"truth_known":1`, `"false":0`, `"not_judged":[{`, `"captured_at":"middle"`, `"noise_ns":2000000000`, `"late_ns":30000000`} {
		if !strings.Contains(records.String(), field) {
			t.Errorf("%s, want %s", &records, field)
		}
	}
}
