package rates

import (
	"fmt"
	"math"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	single := experiments.Table{
		Name: "rates", Title: "One flow at full rate: what timers do in a second",
		Columns: []string{"timers", "round trip, ms", "packets", "ACKs", "starts", "moves", "stops", "expiries", "run at once"},
	}
	receiver := experiments.Table{
		Name: "receiver", Title: "The delayed-ACK timer of the receiver, in a second",
		Columns: []string{"timers", "round trip, ms", "packets", "ACKs", "starts", "stops", "expiries", "runs, share of the time"},
	}
	busy := experiments.Table{
		Name: "busy", Title: fmt.Sprintf("%d connections both ways, with keepalive: one host, in a second", p.Connections),
		Columns: []string{"timers", "packets in and out", "starts", "moves", "stops", "expiries", "run at once, mean", "most", "looks at timers"},
	}
	bars := figure.Figure{
		Name: "operations", Title: fmt.Sprintf("Operations on the sender's timers at %s Mbit/s, round trip %v", experiments.Number(float64(p.Rate)/1e6), p.RoundTrips[0]),
		X: figure.Axis{Label: "timers"}, Y: figure.Axis{Label: "thousands in a second"},
		Series:  []figure.Series{{Name: "starts"}, {Name: "moves"}, {Name: "stops"}, {Name: "expiries"}},
		Caption: "A timer per segment is started for each packet and stopped by the ACKs; one timer is moved by each ACK. Hardly any expires.",
	}
	running := figure.Figure{
		Name: "outstanding", Title: "Timers that run at once",
		X: figure.Axis{Label: "round trip, ms", Log: true}, Y: figure.Axis{Label: "timers of one sender", Log: true},
		Caption: "Dashed: rate times round trip, Little's law.",
	}
	var (
		slow, unkept, extra, resent         int
		perSegment, expired, moves, delayed = 0, uint64(0), 0, 0
		perCells, moveCells                 int
		share, acks                         = 1.0, 1.0 // farthest from what was expected
		little                              = 1.0
		atLongest                           = -1.0
		leastPackets, mostPackets           = math.Inf(1), 0.0
		peak                                int
		leastMean                           = math.Inf(1)
		littles                             = map[string]*figure.Series{}
		order                               []string
		longest                             = p.RoundTrips[0]
	)
	for _, t := range p.RoundTrips {
		longest = max(longest, t)
	}
	far := func(of *float64, x float64) {
		if math.Abs(x-1) > math.Abs(*of-1) {
			*of = x
		}
	}
	for _, c := range cells {
		name := strings.Fields(c.Timers)[0]
		seconds := c.Watched.Seconds()
		client, server := &c.Sides[0], &c.Sides[1]
		for _, s := range c.Sides {
			for _, k := range s.Kinds {
				if uint64(k.Before)+k.Started != k.Stopped+k.Expired+uint64(k.After) {
					unkept++
				}
			}
			if a := s.all(); s.Starts != a.Started+a.Moved || s.Stops != a.Stopped || s.Expiries != a.Expired {
				extra++
			}
		}
		all := client.all()
		if c.Busy > 0 {
			packets := float64(c.Sent+c.AcksIn) / seconds
			leastPackets, mostPackets = min(leastPackets, packets), max(mostPackets, packets)
			busy.Add(name, packets, float64(all.Started)/seconds, float64(all.Moved)/seconds, float64(all.Stopped)/seconds,
				float64(all.Expired)/seconds, all.Mean, client.Peak, float64(client.Looks)/seconds)
			if name == "rfc6298" {
				peak, leastMean = max(peak, client.Peak), min(leastMean, all.Mean)
			}
			continue
		}
		if math.Abs(float64(c.Arrived)-float64(p.packets()*seconds)) > 1 {
			slow++
		}
		resent += int(c.Resent)
		rexmit := client.kind("rexmit")
		if c.Per {
			perCells++
			if rexmit.Started == c.Sent && rexmit.Moved == 0 {
				perSegment++
			}
			expired += rexmit.Expired
			far(&little, rexmit.Mean/float64(float64(rexmit.Started)/seconds*rexmit.Lived.Seconds()))
			if c.Trip == longest {
				atLongest = rexmit.Mean / float64(p.packets()*longest.Seconds())
			}
		} else {
			moveCells++
			if rexmit.Moved+rexmit.Started == c.AcksIn {
				moves++
			}
			far(&share, 2*float64(rexmit.Moved)/float64(c.Sent))
		}
		delack := server.kind("delack")
		if math.Abs(float64(delack.Started)-float64(c.AcksOut)) <= 1 {
			delayed++
		}
		far(&acks, 2*float64(delack.Started)/float64(c.Arrived))
		ms := c.Trip.Seconds() * 1e3
		single.Add(name, ms, float64(c.Sent)/seconds, float64(c.AcksIn)/seconds, float64(all.Started)/seconds, float64(all.Moved)/seconds,
			float64(all.Stopped)/seconds, float64(all.Expired)/seconds, all.Mean)
		receiver.Add(name, ms, float64(c.Arrived)/seconds, float64(c.AcksOut)/seconds, float64(delack.Started)/seconds,
			float64(delack.Stopped)/seconds, float64(delack.Expired)/seconds, delack.Mean)
		if c.Trip == p.RoundTrips[0] {
			for i, v := range []uint64{all.Started, all.Moved, all.Stopped, all.Expired} {
				s := &bars.Series[i]
				s.Kind, s.Group = figure.Bars, i+1
				s.X, s.Y = append(s.X, float64(len(bars.X.Ticks))), append(s.Y, float64(v)/seconds/1000)
			}
			bars.X.Ticks = append(bars.X.Ticks, name)
		}
		if littles[c.Timers] == nil {
			littles[c.Timers] = &figure.Series{Name: name, Kind: figure.Line, Group: len(order) + 1}
			order = append(order, c.Timers)
		}
		s := littles[c.Timers]
		s.X, s.Y = append(s.X, ms), append(s.Y, max(all.Mean, 1e-3))
	}
	for _, name := range order {
		running.Series = append(running.Series, *littles[name])
	}
	law := figure.Series{Name: "rate × round trip", Kind: figure.Line, Dashed: true}
	for _, t := range p.RoundTrips {
		law.X, law.Y = append(law.X, t.Seconds()*1e3), append(law.Y, float64(p.packets()*t.Seconds()))
	}
	running.Series = append(running.Series, law)
	out.Tables = append(out.Tables, single, receiver, busy)
	out.Figures = append(out.Figures, bars, running)

	out.Claim(experiments.Claim{
		Name: "full-rate", Text: fmt.Sprintf("the link carries %s full packets a second", experiments.Number(math.Floor(p.packets()))), Source: "1538 octets each, computed", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d flows otherwise, %d segments sent again", slow, perCells+moveCells, resent),
		Expected:  experiments.Whether(slow == 0 && resent == 0, "within a packet in each, none sent again"),
		Otherwise: "the window does not fill the path, or something was lost",
	})
	out.Claim(experiments.Claim{
		Name: "conservation", Text: "timers that ran and those started are those stopped, expired and still running", Source: "definition, counted", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d kinds otherwise; %d wheels count otherwise", unkept, extra), Expected: experiments.Whether(unkept == 0 && extra == 0, "each kind on either side, exactly; and the wheel counts the same"),

		Otherwise: "a timer is lost, or counted twice",
	})
	if perCells > 0 {
		out.Claim(experiments.Claim{
			Name: "per-segment", Text: "with a timer per segment each segment starts one, and an ACK stops it", Source: "definition, counted", Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%d of %d flows, %d expiries", perSegment, perCells, expired), Expected: experiments.Whether(perSegment == perCells && expired == 0, "as many starts as segments in each, exactly; no expiry"),

			Otherwise: "a segment has no timer, or more than one",
		})
		out.Claim(experiments.Claim{
			Name: "little", Text: "Little's law: timers that run are those started in a time, times how long they run", Source: "J. D. C. Little, 1961, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(little, "of the law, farthest from 1").Judging(little), Expected: experiments.Between(0.995, 1.005, "").Saying("1 ± 0.005"),
			Otherwise: "a timer runs for longer than was noted",
		})
		out.Claim(experiments.Claim{
			Name: "outstanding", Text: fmt.Sprintf("%s timers run at a round trip of %v", experiments.Number(math.Round(float64(p.packets()*longest.Seconds()))), longest),
			Source: "rate × round trip, computed", Tag: experiments.Computed, Measured: experiments.Measured(atLongest, "of it").Judging(atLongest),
			Expected:  experiments.Between(0.99, 1.01, "").OrDiffers(experiments.Between(0.9, 1.1, "")).Saying("1 ± 0.01"),
			Otherwise: "a queue adds to the round trip",
		})
	}
	if moveCells > 0 {
		out.Claim(experiments.Claim{
			Name: "one-timer", Text: "one timer is moved once by each ACK, for half of the packets", Published: "restart the timer when an ACK acknowledges new data", Source: "RFC 6298 §5 (5.3)", Tag: experiments.Standard,
			Measured:  experiments.MeasuredText("%d of %d flows by each ACK; %s of half of the packets", moves, moveCells, experiments.Number(share)),
			Expected:  experiments.Whether(moves == moveCells && math.Abs(share-1) <= 0.01, "each flow; 1 ± 0.01 of half"),
			Otherwise: "ACKs are thinned, or cover other than two segments",
		})
	}
	out.Claim(experiments.Claim{
		Name: "delayed-ack", Text: "the receiver starts its delayed-ACK timer as often as it sends ACKs", Published: "an ACK for every second segment", Source: "RFC 5681 §4.2", Tag: experiments.Standard,
		Measured:  experiments.MeasuredText("%d of %d flows; %s of half of the packets", delayed, perCells+moveCells, experiments.Number(acks)),
		Expected:  experiments.Whether(delayed == perCells+moveCells && math.Abs(acks-1) <= 0.01, "each flow, but for one that runs; 1 ± 0.01 of half"),
		Otherwise: "segments are acknowledged otherwise than in pairs",
	})
	if peak > 0 {
		most := 3 * p.Connections
		out.Claim(experiments.Claim{
			Name: "six-hundred", Text: fmt.Sprintf("%d connections with three timers each", p.Connections), Published: "200 × 3 = 600 timers", Source: "Varghese & Lauck", Tag: experiments.FromSource,
			Measured:  experiments.MeasuredText("%d at once at most, %s or more in the mean", peak, experiments.Number(leastMean)),
			Expected:  experiments.Whether(peak <= most && leastMean >= float64(2*p.Connections), "%d to %d at once", 2*p.Connections, most),
			Otherwise: "timers of other kinds run, or connections are idle",
		})
		out.Claim(experiments.Claim{
			Name: "paper-rate", Text: "a host that handles the packets of the paper", Published: "25,000 to 40,000 packets/s", Source: "Varghese & Lauck", Tag: experiments.FromSource,
			Measured:  experiments.MeasuredText("%s to %s packets/s in and out", experiments.Number(math.Round(leastPackets)), experiments.Number(math.Round(mostPackets))),
			Expected:  experiments.Whether(leastPackets >= 20_000 && mostPackets <= 60_000, "20,000 to 60,000, ACKs included"),
			Otherwise: "the links are not full",
		})
	}
	return out, nil
}
