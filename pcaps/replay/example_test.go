package replay_test

import (
	"errors"
	"fmt"
	"io"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// A capture of two kernels is replayed with its own retransmission times and with 4.4BSD's timers.
func Example() {
	f, err := samples.Open("lost-rexmit/a.pcapng.gz")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	in, err := capture.NewReader(f, "lost-rexmit")
	if err != nil {
		panic(err)
	}
	bsd, _ := replay.ParseChoice("bsd")
	study := replay.Study{Choices: []replay.Choice{bsd}}
	var results []*replay.Result
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, err error) {
		if s == nil {
			return // it lost nothing, or err says why it cannot be replayed
		}
		if r, err := study.Run("lost-rexmit", c, s); err == nil {
			results = append(results, r)
		}
	}})
	for {
		p, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		rec.Add(p)
	}
	rec.Close()
	for _, r := range results {
		for i := range r.Captured.Losses {
			l := &r.Captured.Losses[i]
			rec, ok := r.Recovery(i, 0, replay.ByRange)
			fmt.Println(l.Kind, "through the gate:", r.Gates[i] == replay.Passed, "4.4BSD slower:", ok && rec.TRec > l.TRec)
		}
	}
	// Output:
	// fast through the gate: true 4.4BSD slower: true
	// fast through the gate: true 4.4BSD slower: true
}
