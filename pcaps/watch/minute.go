package watch

import (
	"net/netip"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// recovery is what the sums keep of an episode.
type recovery struct {
	at                 wheel.Time
	kind               track.Kind
	verdict            track.Spuriousness
	repaired           bool
	never              bool // data was still missing at the end
	unmeasured         bool
	uncertain          bool
	tRec, lost, waited time.Duration
	host               netip.Addr
	port               uint16
}

// blame returns the host and the port that a recovery counts for: the far end of an own host's
// connection, else the sender; and the server's port.
func blame(c *track.Conn, f *track.Flow) (netip.Addr, uint16) {
	host := f.Src.Addr()
	if d := f.Direction(); d == capture.Outbound || d == capture.Unknown && f.Vantage == track.AtSender {
		host = f.Dst.Addr()
	}
	port := c.Flows[0].Dst.Port()
	if c.Handshake.SYN == 0 && c.Handshake.SYNACK == 0 {
		port = min(port, c.Flows[0].Src.Port())
	}
	return host, port
}

// minute holds the recoveries of the last minute.
type minute struct {
	all  []recovery // a ring that begins at first
	n    int
	head int
	lost wheel.Time // time of the last recovery that did not fit
}

const (
	window    = time.Minute
	maxMinute = 1 << 16
)

func (m *minute) at(i int) *recovery { return &m.all[(m.head+i)%len(m.all)] }

func (m *minute) add(r recovery) {
	m.expire(r.at)
	if m.n == len(m.all) && m.n < maxMinute {
		grown := make([]recovery, max(64, 2*m.n))
		for i := range m.n {
			grown[i] = *m.at(i)
		}
		m.all, m.head = grown, 0
	} else if m.n == maxMinute {
		m.lost = m.at(0).at
		m.head, m.n = (m.head+1)%maxMinute, m.n-1
	}
	*m.at(m.n) = r
	m.n++
}

// expire drops what is older than the window.
func (m *minute) expire(now wheel.Time) {
	for m.n > 0 && now.Sub(m.at(0).at) > window {
		m.head, m.n = (m.head+1)%len(m.all), m.n-1
	}
}

// tally sums up the minute before now, which began at that time at the earliest.
func (m *minute) tally(now, begun wheel.Time) (t Tally, uncertain int, bySecond [60]float64) {
	m.expire(now)
	t.Kinds = []KindTally{}
	t.Span = min(now.Sub(begun), now.Sub(m.lost), window).Seconds()
	var kinds [track.Kinds]KindTally
	spans := make([]time.Duration, 0, m.n)
	hosts, ports := map[netip.Addr]loss{}, map[uint16]loss{}
	for k := range track.Kinds {
		first := len(spans)
		for i := range m.n {
			r := m.at(i)
			if r.uncertain || int(r.kind) != k {
				continue
			}
			kinds[k].add(r)
			if r.measured() {
				spans = append(spans, r.tRec)
			}
			hosts[r.host] = hosts[r.host].plus(r)
			ports[r.port] = ports[r.port].plus(r)
		}
		if kinds[k].Episodes > 0 {
			kinds[k].quantiles(len(spans)-first, exactly(spans[first:]))
			t.Kinds = append(t.Kinds, kinds[k].named(track.Kind(k).String()))
		}
	}
	all := sumOf(&kinds)
	all.quantiles(len(spans), exactly(spans))
	t.All = all.named("all")
	t.Hosts, t.Ports = topLosers(hosts, netip.Addr.String), topLosers(ports, portName)
	for i := range m.n {
		r := m.at(i)
		if r.uncertain {
			uncertain++
		}
		if s := int(now.Sub(r.at) / time.Second); s >= 0 && s < len(bySecond) {
			bySecond[len(bySecond)-1-s] += r.lost.Seconds()
		}
	}
	return t, uncertain, bySecond
}
