package tcp

import "testing"

func TestCheckRST(t *testing.T) {
	for _, c := range []struct {
		off  int32
		wnd  uint32
		want rstAction
	}{
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number exactly matches the next
		// expected sequence number (RCV.NXT), then TCP MUST reset the connection."
		{0, 100, rstReset},
		{0, 0, rstReset},
		// RFC 5961 §3.2: "yet is within the current receive window", "TCP MUST send an
		// acknowledgment (challenge ACK)".
		{1, 100, rstChallenge},
		{99, 100, rstChallenge},
		// RFC 5961 §3.2: "If the RST bit is set and the sequence number is outside the current
		// receive window, silently drop the segment."
		{100, 100, rstDrop},
		{-1, 100, rstDrop},
		{1, 0, rstDrop},
	} {
		for _, nxt := range []Seq{5000, 0, 1<<32 - 50} {
			if got := checkRST(nxt, c.wnd, nxt+Seq(c.off)); got != c.want {
				t.Errorf("checkRST(%v, %d, %+d) = %d, want %d", nxt, c.wnd, c.off, got, c.want)
			}
		}
	}
}

func TestCheckAck(t *testing.T) {
	// RFC 5961 §5.2: "The ACK value is considered acceptable only if it is in the range of
	// ((SND.UNA - MAX.SND.WND) <= SEG.ACK <= SND.NXT)."
	for _, c := range []struct {
		off            int32
		flight, maxWnd uint32
		want           ackClass
	}{
		{0, 50, 100, ackCurrent},
		{0, 0, 0, ackCurrent},
		{1, 50, 100, ackNew},
		{50, 50, 100, ackNew},
		{51, 50, 100, ackUnacceptable},
		{1, 0, 100, ackUnacceptable},
		{-1, 50, 100, ackOld},
		{-100, 50, 100, ackOld},
		{-101, 50, 100, ackUnacceptable},
		{-1, 50, 0, ackUnacceptable},
		{-1 << 31, 50, 1 << 30, ackUnacceptable},
	} {
		for _, una := range []Seq{5000, 0, 1<<32 - 20} {
			if got := checkAck(una, una.Add(c.flight), c.maxWnd, una+Seq(c.off)); got != c.want {
				t.Errorf("checkAck(%v, +%d, %d, %+d) = %d, want %d", una, c.flight, c.maxWnd, c.off, got, c.want)
			}
		}
	}
}
