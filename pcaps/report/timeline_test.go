package report

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// seconds returns a time in seconds since the epoch.
func seconds(s float64) wheel.Time { return wheel.Time(s * 1e9) }

// exchanged returns a connection that sends and acknowledges 100 bytes at each of the times.
func exchanged(times ...float64) *drawing {
	d := &drawing{conn: &track.Conn{Flows: new([2]track.Flow)}, trace: &connTrace{}}
	f := &d.trace.flows[0]
	for i, s := range times {
		end := int64(i+1) * 100
		f.marks = append(f.marks, mark{kind: sent, at: seconds(s), until: seconds(s), start: end - 100, end: end},
			mark{kind: acked, at: seconds(s + 0.05), until: seconds(s + 0.05), start: end, end: end + 1000})
	}
	return d
}

func TestIdleTimesAreCut(t *testing.T) {
	d := exchanged(0, 0.1, 0.2, 10, 10.1, 70, 70.1)
	gaps := d.idleTimes()
	if len(gaps) != 2 || gaps[0] != (stretch{seconds(0.25), seconds(10)}) || gaps[1].to != seconds(70) {
		t.Errorf("gaps %v, want from 0.25 s to 10 s and from 10.15 s to 70 s", gaps)
	}
	if gaps := exchanged(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14).idleTimes(); len(gaps) != 0 {
		t.Errorf("gaps %v in steady traffic, want none", gaps)
	}
}

// TestWaitsAreNotIdle keeps the wait for a retransmission, for an ACK and for a window.
func TestWaitsAreNotIdle(t *testing.T) {
	lost := exchanged(0, 0.1, 10, 10.1)
	lost.conn.Flows[0].Episodes = []*track.Episode{{PrevSent: seconds(0.1), Detected: seconds(10)}}
	unacked := exchanged(0, 0.1, 10, 10.1)
	unacked.trace.flows[0].marks[3].start = 100
	closed := exchanged(0, 0.1, 10, 10.1)
	closed.trace.flows[0].marks[3].end = closed.trace.flows[0].marks[3].start
	for name, d := range map[string]*drawing{"lost": lost, "not acknowledged": unacked, "window closed": closed} {
		if gaps := d.idleTimes(); len(gaps) != 0 {
			t.Errorf("%s: gaps %v, want none", name, gaps)
		}
	}
	unacked.conn.Flows[0].RTT.Mean = 50 * time.Millisecond
	if gaps := unacked.idleTimes(); !slices.Contains(gaps, stretch{seconds(0.15), seconds(10)}) {
		t.Errorf("an ACK not captured: gaps %v, want one from 0.15 s to 10 s", gaps)
	}
}
