package replay

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
)

// A story is a capture as text, a line for each packet:
//
//	MS WHO [FLAGS] [SEQ:END] [ack N] [sack A:B,C:D] [win N] [id N] [mss N]
//
// in milliseconds; WHO is > for the client and < for the server, FLAGS some of S, F, R and P.
// Positions count from the SYN, which is 0. Lines that begin with # say what happens.
//
// The initial sequence numbers are near the end of their space, so that every story wraps.

// initial are the initial sequence numbers of the client and the server.
var initial = [2]tcp.Seq{1<<32 - 700, 1<<32 - 300}

// story returns the packets of a story.
func story(t *testing.T, text string) (packets []capture.Packet) {
	t.Helper()
	var next [2]uint32 // positions: packets without bytes have these
	ends := [2]netip.AddrPort{netip.MustParseAddrPort("10.1.0.1:40000"), netip.MustParseAddrPort("10.1.0.2:80")}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		fail := func(err error) {
			if err != nil {
				t.Fatalf("story: %q: %v", strings.TrimSpace(line), err)
			}
		}
		var ms float64
		_, err := fmt.Sscan(f[0], &ms)
		fail(err)
		d := strings.Index("><", f[1])
		p := capture.Packet{
			Number: int64(len(packets) + 1), Time: epoch.Add(time.Duration(ms * float64(time.Millisecond))), Src: ends[d], Dst: ends[1-d], TTL: 64,
			ID: uint32(len(packets) + 1), HasID: true,
		}
		h := &p.Header
		h.SrcPort, h.DstPort, h.Seq, h.Window = p.Src.Port(), p.Dst.Port(), initial[d]+tcp.Seq(next[d]), 60000
		for f = f[2:]; len(f) > 0; f = f[1:] {
			var n, end uint32
			switch _, err := fmt.Sscanf(f[0], "%d:%d", &n, &end); {
			case err == nil:
				h.Seq, p.Len, next[d] = initial[d]+tcp.Seq(n), end-n, max(next[d], end)
			case strings.Trim(f[0], "SFRP") == "":
				for flag, name := range map[tcp.Flags]string{tcp.SYN: "S", tcp.FIN: "F", tcp.RST: "R", tcp.PSH: "P"} {
					if strings.Contains(f[0], name) {
						h.Flags |= flag
					}
				}
			case len(f) < 2:
				fail(errors.New("a word without its number"))
			case f[0] == "sack":
				for text := range strings.SplitSeq(f[1], ",") {
					_, err := fmt.Sscanf(text, "%d:%d", &n, &end)
					fail(err)
					o := &h.Options
					o.SACK[o.NumSACK] = tcp.SeqRange{Start: initial[1-d] + tcp.Seq(n), End: initial[1-d] + tcp.Seq(end)}
					o.NumSACK++
				}
				f = f[1:]
			default:
				_, err := fmt.Sscan(f[1], &n)
				fail(err)
				switch f[0] {
				case "ack":
					h.Flags |= tcp.ACK
					h.Ack = initial[1-d] + tcp.Seq(n)
				case "win":
					h.Window = uint16(n)
				case "id":
					p.ID = n
				case "mss":
					h.Options.HasMSS, h.Options.MSS, h.Options.SACKPermitted = true, uint16(n), true
				default:
					fail(fmt.Errorf("no word %q", f[0]))
				}
				f = f[1:]
			}
		}
		if h.Flags.HasAny(tcp.SYN | tcp.FIN) { // END counts them
			p.Len -= min(p.Len, 1)
		}
		packets = append(packets, p)
	}
	return packets
}

// told returns the captured connection of a story, or why there is none.
func told(t *testing.T, text string) (*track.Conn, *CapturedConn, error) {
	t.Helper()
	conns, all, errs := recorded(t, story(t, text))
	if len(conns) != 1 {
		t.Fatalf("%d connections, want one", len(conns))
	}
	return conns[0], all[0], errs[0]
}

const handshake = `
	0    > S 0:1 mss 1000
	20   < S 0:1 ack 1 mss 1000
	20.1 > ack 1
`

// fates lists what became of the transmissions of the client's bytes: "1:1001 lost delivered".
func fates(s *CapturedConn) string {
	var b strings.Builder
	for _, r := range s.Paths[0].Ranges {
		fmt.Fprintf(&b, "%d:%d", r.Start, r.End)
		for _, try := range r.Tries {
			fmt.Fprintf(&b, " %v", try.Fate)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestStories holds connections of hand-made captures to the fate of each transmission, and each
// loss to its kind and whether it counts.
func TestStories(t *testing.T) {
	for _, test := range []struct {
		name, story string
		fates       string
		losses      string // kind, "needed" or not, and the transmission before
	}{
		{"a last segment is lost, and a timer repairs it", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			60   > P 501:801 ack 1
			# nothing comes for 300 ms
			360  > P 501:801 ack 1
			380  < ack 801
			400  > P 801:901 ack 1
			420  < ack 901`,
			"0:1 delivered; 1:501 delivered; 501:801 lost delivered; 801:901 delivered", "rto needed 1"},
		{"three SACKs show a loss", handshake + `
			30   > 1:1001 ack 1
			30.1 > 1001:2001 ack 1
			30.2 > 2001:3001 ack 1
			30.3 > 3001:4001 ack 1
			30.4 > P 4001:5001 ack 1
			50   < ack 1001
			50.2 < ack 1001 sack 2001:3001
			50.3 < ack 1001 sack 2001:4001
			50.4 < ack 1001 sack 2001:5001
			50.5 > 1001:2001 ack 1
			70.5 < ack 5001
			80   > P 5001:5101 ack 1
			100  < ack 5101`,
			"0:1 delivered; 1:1001 delivered; 1001:2001 lost delivered; 2001:3001 delivered; 3001:4001 delivered; 4001:5001 delivered; 5001:5101 delivered",
			"fast needed 1"},
		{"the retransmission is lost too", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			60   > P 501:801 ack 1
			360  > P 501:801 ack 1
			960  > P 501:801 ack 1
			980  < ack 801
			1000 > P 801:901 ack 1
			1020 < ack 901`,
			"0:1 delivered; 1:501 delivered; 501:801 lost lost delivered; 801:901 delivered", "rto needed 1"},
		{"a DSACK below the ACK: the retransmission was unnecessary", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			60   > P 501:801 ack 1
			# the ACK is late
			360  > P 501:801 ack 1
			370  < ack 801
			381  < ack 801 sack 501:801
			400  > P 801:901 ack 1
			420  < ack 901`,
			"0:1 delivered; 1:501 delivered; 501:801 delivered delivered; 801:901 delivered", "rto not 1"},
		{"a DSACK inside the second block is no news of a gap", handshake + `
			30   > 1:1001 ack 1
			30.1 > 1001:2001 ack 1
			30.2 > 2001:3001 ack 1
			30.3 > P 3001:4001 ack 1
			50   < ack 1001
			50.2 < ack 1001 sack 2001:3001
			50.3 < ack 1001 sack 2001:4001
			# a copy of the third segment comes, RFC 2883 4: D-SACK, then the block that holds it
			52   < ack 1001 sack 2001:3001,2001:4001
			53   > 1001:2001 ack 1
			73   < ack 4001
			80   > P 4001:4101 ack 1
			100  < ack 4101`,
			"0:1 delivered; 1:1001 delivered; 1001:2001 lost delivered; 2001:3001 delivered; 3001:4001 delivered; 4001:4101 delivered", "fast needed 1"},
		{"a FIN alone is lost: no data waits", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			60   > F 501:502 ack 1
			360  > F 501:502 ack 1
			380  < F 1:2 ack 502
			381  > ack 2`,
			"0:1 delivered; 1:501 delivered; 501:502 lost delivered", "rto not 1"},
		{"the SYN is lost", `
			0    > S 0:1 mss 1000
			1000 > S 0:1 mss 1000
			1020 < S 0:1 ack 1 mss 1000
			1020.1 > ack 1
			1030 > P 1:501 ack 1
			1050 < ack 501`,
			"0:1 lost delivered; 1:501 delivered", "syn needed 1"},
		{"a keepalive sends nothing again", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			5050 > 500:501 ack 1
			5070 < ack 501
			5080 > P 501:601 ack 1
			5100 < ack 601
			5110 > P 601:701 ack 1
			5410 > P 601:701 ack 1
			5430 < ack 701`,
			"0:1 delivered; 1:501 delivered; 501:601 delivered; 601:701 lost delivered", "rto needed 1"},
		{"a copy of a packet is no transmission", handshake + `
			30   > P 1:501 ack 1
			30.03 > P 1:501 ack 1 id 4
			50   < ack 501
			60   > P 501:801 ack 1
			360  > P 501:801 ack 1
			380  < ack 801`,
			"0:1 delivered; 1:501 delivered; 501:801 lost delivered", "rto needed 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, s, err := told(t, test.story)
			if err != nil || s == nil {
				t.Fatalf("connection %v, error %v", s, err)
			}
			if got := fates(s); got != test.fates {
				t.Errorf("fates\n%s, want\n%s", got, test.fates)
			}
			var losses []string
			for i := range s.Losses {
				l := &s.Losses[i]
				word := "not"
				if l.Needed() {
					word = "needed"
				}
				losses = append(losses, fmt.Sprintf("%v %s %d", l.Kind, word, l.Try))
			}
			if got := strings.Join(losses, ", "); got != test.losses {
				t.Errorf("losses %q, want %q", got, test.losses)
			}
			for _, k := range []Key{ByRange, ByTime, ByIndex} {
				if o, err := s.Run(Options{Policy: tcptimers.MustPolicy("linux"), Key: k}); err != nil || !o.Complete {
					t.Errorf("by %v: %+v, %v, want a complete connection", k, o, err)
				}
			}
		})
	}
}

// TestSecondFormOfDSACK: RFC 2883 §4 allows a DSACK above the ACK, inside the second block. An end
// that follows the capture counts it as old.
func TestSecondFormOfDSACK(t *testing.T) {
	_, s, err := told(t, handshake+`
		30   > 1:1001 ack 1
		30.1 > 1001:2001 ack 1
		30.2 > P 2001:3001 ack 1
		50   < ack 1001
		50.2 < ack 1001 sack 2001:3001
		51   < ack 1001 sack 2001:2501,2001:3001
		350  > 1001:2001 ack 1
		370  < ack 3001`)
	if err != nil {
		t.Fatal(err)
	}
	second := s.facts.At(8)
	if !second.DSACK || len(s.facts.FreshSACK(second)) != 1 || s.facts.FreshSACK(second)[0] != (ledger.Range{Start: 2001, End: 3001}) {
		t.Errorf("packet %d reports %v as new, want only 2001:3001", second.Number, s.facts.FreshSACK(second))
	}
	var known arrived
	for _, x := range s.facts.All() {
		if x.Flow == 1 && x.Number <= second.Number {
			news := known.hear(s.facts, &endEvent{delivery: delivery{p: x, ack: max(x.Ack, 0)}}, 1<<30)
			if x.Number == second.Number && news {
				t.Error("a DSACK counts as news")
			}
		}
	}
	if known.bytes() != 2000 {
		t.Errorf("%d bytes are known to have arrived, want 2000", known.bytes())
	}
}

// TestSentencesOfRefusals: each connection that cannot be replayed has a sentence that says why and
// what to do.
func TestSentencesOfRefusals(t *testing.T) {
	for _, test := range []struct{ name, story, want string }{
		{"one direction", `
			0    > S 0:1 mss 1000
			20.1 > ack 1
			30   > P 1:501 ack 1
			330  > P 1:501 ack 1`, "the capture has one direction only: capture at a point that sees both"},
		{"stamps too coarse", `
			0    > S 0:1 mss 1000
			0    < S 0:1 ack 1 mss 1000
			0    > ack 1
			0    > P 1:501 ack 1
			1000 > P 1:501 ack 1
			1000 < ack 501`, "the clock of the capture is too coarse to show a round trip: capture with stamps of a microsecond or finer"},
		{"a round trip of 10 ms, and stamps of 16 ms", `
			0    > S 0:1 mss 1000
			16   < S 0:1 ack 1 mss 1000
			16   > ack 1
			32   > P 1:501 ack 1
			32   < ack 501
			48   > P 501:1001 ack 1
			64   < ack 1001
			80   > P 1001:1501 ack 1
			400  > P 1001:1501 ack 1
			416  < ack 1501`, "the clock of the capture is too coarse to show a round trip: capture with stamps of a microsecond or finer"},
		{"a clock set back", handshake + `
			30   > P 1:501 ack 1
			50   < ack 501
			60   > P 501:801 ack 1
			# the clock goes back by 35 ms
			25   > P 801:1001 ack 1
			30   < ack 501 sack 801:1001
			360  > P 501:801 ack 1
			380  < ack 1001`, "the clock of the capture was set back by 30.0 ms, which is too much for round trips of 20.0 ms"},
	} {
		_, s, err := told(t, test.story)
		var refusal *Refusal
		if !errors.As(err, &refusal) || err.Error() != test.want {
			t.Errorf("%s: connection %v, error %v, want %q", test.name, s != nil, err, test.want)
		}
	}
	cut := story(t, handshake+`
		30   > P 1:501 ack 1
		330  > P 1:501 ack 1
		350  < ack 501`)
	for i := range cut {
		cut[i].Problems |= capture.OptionsCut
	}
	if _, _, errs := recorded(t, cut); errs[0] == nil || !strings.Contains(errs[0].Error(), "options of its packets are cut off") {
		t.Errorf("options cut off: %v", errs)
	}
	facts := &track.Facts{TooMany: true}
	if _, err := build(&track.Conn{Facts: facts}); err == nil || !strings.Contains(err.Error(), "more than 524288 packets") {
		t.Errorf("too many packets: %v", err)
	}
}

// TestWritesOfAStory: what an application wrote, and what it waited for.
func TestWritesOfAStory(t *testing.T) {
	_, s, err := told(t, handshake+`
		# a request of 100 bytes after 10 ms, and an answer of two segments 5 ms later
		30   > P 1:101 ack 1
		55   < 1:1001 ack 101
		55.1 < P 1001:1501 ack 101
		55.2 > ack 1501
		# the client thinks for half a second, and closes
		555  > F 101:102 ack 1501
		575  < F 1501:1502 ack 102
		575.1 > ack 1502`)
	if err != nil {
		t.Fatal(err)
	}
	client, server := s.Ends[0].Writes, s.Ends[1].Writes
	ms := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	if len(client) != 2 || client[0].Bytes != 100 || client[0].Received != 0 || ms(client[0].After) != 10*time.Millisecond {
		t.Errorf("the client writes %+v, want 100 bytes 10 ms after the opening", client)
	}
	if len(client) == 2 && (!client[1].FIN || client[1].Received == 0 || ms(client[1].After) < 499*time.Millisecond) {
		t.Errorf("the client ends by %+v, want 0.5 s after the answer", client[1])
	}
	if len(server) == 0 || server[0].Bytes != 1500 || server[0].Received != 101 || ms(server[0].After) > 6*time.Millisecond {
		t.Errorf("the server writes %+v, want 1500 bytes some 5 ms after the request", server)
	}
}

// TestWritesWithoutTheSYN: an answer waits for its request, also if the capture begins after the
// opening.
func TestWritesWithoutTheSYN(t *testing.T) {
	_, s, err := told(t, `
		30   > P 1:101 ack 1
		55   < P 1:1001 ack 101
		555  > P 101:201 ack 1001
		580  < P 1001:2001 ack 201
		580.1 > ack 2001`)
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range [2][]uint64{{0, 1001}, {101, 201}} {
		var got []uint64
		for _, w := range s.Ends[d].Writes {
			got = append(got, w.Received)
		}
		if !slices.Equal(got, want) {
			t.Errorf("end %d wrote after %d bytes of the other, want %d", d, got, want)
		}
	}
}

// TestCapturedIsTheStory: the log of the point of capture has each segment once, cut as the sender
// cuts them, and no keepalive's byte.
func TestCapturedIsTheStory(t *testing.T) {
	_, s, err := told(t, handshake+`
		30   > P 1:2501 ack 1
		50   < ack 2501
		5050 > 2500:2501 ack 1
		5070 < ack 2501
		5080 > F 2501:2502 ack 1
		5100 < F 1:2 ack 2502`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range s.captured() {
		if e.Flow == 0 && e.End > e.Start {
			got = append(got, fmt.Sprintf("%d:%d", e.Start, e.End))
		}
	}
	if want := "0:1 1:1001 1001:2001 2001:2501 2501:2502"; strings.Join(got, " ") != want {
		t.Errorf("the client sent %v, want %s", got, want)
	}
}

// TestControlRepairsStories: with the captured retransmission times each story takes the captured
// time, and other timers what they must.
func TestControlRepairsStories(t *testing.T) {
	conn, s, err := told(t, handshake+`
		30   > P 1:501 ack 1
		50   < ack 501
		60   > P 501:801 ack 1
		660  > P 501:801 ack 1
		680  < ack 801
		700  > P 801:901 ack 1
		720  < ack 901`)
	if err != nil {
		t.Fatal(err)
	}
	st := &Study{Choices: choices(t, "rfc6298", "per-segment@1ms", "bsd")}
	r, err := st.Run("", conn, s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Gates[0] != Passed || r.Control[0].TRec != 620*time.Millisecond || r.Control[0].D != 600*time.Millisecond {
		t.Fatalf("gate %v, control %+v, want 620 ms", r.Gates[0], r.Control[0])
	}
	for choice, want := range [][2]time.Duration{{time.Second, 1100 * time.Millisecond}, {20 * time.Millisecond, 100 * time.Millisecond}, {time.Second, 2 * time.Second}} {
		e, why := r.Estimate(0, choice)
		if why != "" || e.TRec < want[0] || e.TRec > want[1] || e.Saved != e.Control-e.TRec {
			t.Errorf("%s: %+v, %+v, %q, want a repair after %v to %v", st.Choices[choice].Text, e, r.Policies[choice].Recoveries, why, want[0], want[1])
		}
	}
	sum := st.Summarize([]*Result{r})[1]
	if sum.Effect != CannotTell || sum.Why != "one loss is too few for a verdict: want 5" {
		t.Errorf("one loss: %v, %q", sum.Effect, sum.Why)
	}
}

// TestSureOnlyOfOneLoss: where the first retransmission was lost, too, the path may have carried
// nothing until the captured repair, and a sooner one may have been lost as well.
func TestSureOnlyOfOneLoss(t *testing.T) {
	for _, test := range []struct {
		repair string
		sure   bool
	}{
		{"680 < ack 801", true},
		{"1860 > P 501:801 ack 1\n1880 < ack 801", false},
	} {
		conn, s, err := told(t, handshake+`
		30   > P 1:501 ack 1
		50   < ack 501
		60   > P 501:801 ack 1
		660  > P 501:801 ack 1
		`+test.repair+`
		1900 > P 801:901 ack 1
		1920 < ack 901`)
		if err != nil {
			t.Fatal(err)
		}
		st := &Study{Choices: choices(t, "per-segment@1ms")}
		r, err := st.Run("", conn, s)
		if err != nil {
			t.Fatal(err)
		}
		e, why := r.Estimate(0, 0)
		if why != "" || e.Saved < 400*time.Millisecond || e.Low > 0 != test.sure || e.High < e.Saved {
			t.Errorf("%q: %+v, %q, want a saving that is sure: %v", test.repair, e, why, test.sure)
		}
	}
}
