package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/wheel"
)

const second = wheel.Time(time.Second)

// nodeFunc and handlerFunc are functions as a Node and a Handler.
type nodeFunc func(now wheel.Time, via LinkID, d *Datagram[uint64])

func (f nodeFunc) Receive(now wheel.Time, via LinkID, d *Datagram[uint64]) { f(now, via, d) }

type handlerFunc func(now wheel.Time)

func (f handlerFunc) Expire(now wheel.Time) { f(now) }

func sink(wheel.Time, LinkID, *Datagram[uint64]) {}

func newTestNetwork(t testing.TB, scheme string, seed uint64) *Network[uint64] {
	t.Helper()
	n, err := NewNetwork[uint64](Config{Seed: seed, Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *Network[P]) mustAdd(t testing.TB, name string, to Node[P]) NodeID {
	t.Helper()
	id, err := n.AddNode(name, to)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (n *Network[P]) mustConnect(t testing.TB, a, b NodeID, cfg LinkConfig) (ab, ba LinkID) {
	t.Helper()
	ab, ba, err := n.Connect(a, b, cfg, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return ab, ba
}

// logTap logs every detail of what passes a link.
type logTap struct {
	name string
	log  *bytes.Buffer
}

func (l logTap) Sent(now wheel.Time, d *Datagram[uint64], f Fate) {
	fmt.Fprintf(l.log, "%d %s sent %d %+v\n", now, l.name, d.Body, f)
}

func (l logTap) Arrived(now wheel.Time, d *Datagram[uint64]) {
	fmt.Fprintf(l.log, "%d %s arrived %d %v %v %d\n", now, l.name, d.Body, d.ECN, d.Corrupt, d.Bit)
}

// pingPong runs a plan with every impairment and returns a log of its links. Node a sends every 100
// µs, b answers each packet, and a returns half of the answers. order is the order of making
// the nodes.
func pingPong(t testing.TB, scheme string, seed uint64, order []string) []byte {
	t.Helper()
	n := newTestNetwork(t, scheme, seed)
	var ab, ba LinkID
	nodes := map[string]nodeFunc{
		"a": func(_ wheel.Time, _ LinkID, d *Datagram[uint64]) {
			if d.Body%2 == 0 {
				d.Body++
				n.Send(ab, d)
			}
		},
		"b": func(_ wheel.Time, _ LinkID, d *Datagram[uint64]) { n.Send(ba, d) },
	}
	ids := map[string]NodeID{}
	for _, name := range order {
		ids[name] = n.mustAdd(t, name, nodes[name])
	}
	cfg := LinkConfig{Rate: 100_000_000, Overhead: 38, Queue: Limit{Packets: 10}, Mark: Limit{Packets: 5}, Delay: 3 * time.Millisecond,
		Jitter: Jitter{Amount: time.Millisecond}, Loss: Losses{GilbertElliott{0.02, 0.4, 0.001, 1}},
		Reorder: Reorder{Probability: 0.05, Extra: time.Millisecond}, Duplicate: 0.01, Corrupt: 0.01}
	ab, ba = n.mustConnect(t, ids["a"], ids["b"], cfg)
	var log bytes.Buffer
	n.Tap(ab, logTap{"ab", &log})
	n.Tap(ba, logTap{"ba", &log})
	k := uint64(0)
	var timer wheel.Timer
	timer = n.NewTimer(handlerFunc(func(now wheel.Time) {
		k += 2
		n.Send(ab, &Datagram[uint64]{Packet: Packet{Size: 1500, ECN: ECT0}, Body: k})
		if k < 10_000 {
			n.StartTimer(timer, now.Add(100*time.Microsecond))
		}
	}))
	n.StartTimer(timer, 0)
	n.Run(10 * second)
	if n.InFlight() != 0 {
		t.Errorf("%d datagrams are in flight after the end", n.InFlight())
	}
	return log.Bytes()
}

// The same plan gives the same bytes under every scheme; another seed gives others.
func TestSamePlanSameBytes(t *testing.T) {
	want := sha256.Sum256(pingPong(t, "scheme7", 1, []string{"a", "b"}))
	for _, scheme := range []string{"scheme7", "scheme3", "scheme2-rear", "scheme3-tree"} {
		if got := sha256.Sum256(pingPong(t, scheme, 1, []string{"a", "b"})); got != want {
			t.Errorf("%s: log %x, want %x", scheme, got[:4], want[:4])
		}
	}
	if got := sha256.Sum256(pingPong(t, "scheme7", 2, []string{"a", "b"})); got == want {
		t.Error("seed 2: the log of seed 1")
	}
	// The order of making nodes and links changes no draw.
	if got := sha256.Sum256(pingPong(t, "scheme7", 1, []string{"b", "a"})); got != want {
		t.Errorf("nodes made in the other order: log %x, want %x", got[:4], want[:4])
	}
}

// Events of one instant happen in the order of their scheduling, under every scheme.
func TestEventsOfOneInstantKeepTheirOrder(t *testing.T) {
	for _, scheme := range ClockSchemes() {
		n := newTestNetwork(t, scheme, 1)
		var got []string
		a := n.mustAdd(t, "a", nodeFunc(sink))
		b := n.mustAdd(t, "b", nodeFunc(func(now wheel.Time, _ LinkID, d *Datagram[uint64]) {
			got = append(got, fmt.Sprint(d.Body, "@", int64(now)))
		}))
		slow, _ := n.mustConnect(t, a, b, LinkConfig{Delay: 200})
		fast, _ := n.mustConnect(t, a, b, LinkConfig{Delay: 100})
		now, _ := n.mustConnect(t, a, b, LinkConfig{})
		send := func(via LinkID, body uint64) { n.Send(via, &Datagram[uint64]{Packet: Packet{Size: 1}, Body: body}) }
		first := n.NewTimer(handlerFunc(func(wheel.Time) { got = append(got, "t"); send(now, 4); send(fast, 6); send(now, 5) }))
		later := n.NewTimer(handlerFunc(func(wheel.Time) { send(fast, 2) }))
		stopped := n.NewTimer(handlerFunc(func(wheel.Time) { got = append(got, "stopped") }))
		send(slow, 1)
		n.StartTimer(stopped, 200)
		n.StartTimer(later, 100)
		n.StartTimer(first, 200)
		n.StopTimer(stopped)
		n.Run(250)
		want := []string{"1@200", "t", "2@200", "4@200", "5@200"}
		if !slices.Equal(got, want) || n.Now() != 250 || n.InFlight() != 1 {
			t.Errorf("%s: %v at %d, %d in flight, want %v at 250, 1", scheme, got, n.Now(), n.InFlight(), want)
		}
		if n.Step(); n.Now() != 300 || got[len(got)-1] != "6@300" || n.Step() {
			t.Errorf("%s: after Step: %v at %d, want 6@300 and no further event", scheme, got, n.Now())
		}
		n.FreeTimer(first)
		if again := n.NewTimer(handlerFunc(func(wheel.Time) { got = append(got, "again") })); n.handlers[0] == nil {
			t.Errorf("%s: timer %d does not take the freed place", scheme, again)
		}
	}
}

// Repeated Steps give the same run as Run.
func TestStepIsRun(t *testing.T) {
	record := func(run func(n *Network[uint64])) (log []byte, events uint64) {
		n := newTestNetwork(t, "", 3)
		var ab LinkID
		var buf bytes.Buffer
		a := n.mustAdd(t, "a", nodeFunc(sink))
		b := n.mustAdd(t, "b", nodeFunc(sink))
		ab, _ = n.mustConnect(t, a, b, LinkConfig{Delay: ms10, Jitter: Jitter{Amount: ms10, Overtake: true}, Duplicate: 0.5})
		n.Tap(ab, logTap{"ab", &buf})
		for k := range uint64(1000) {
			n.Send(ab, &Datagram[uint64]{Packet: Packet{Size: 1}, Body: k})
		}
		run(n)
		return buf.Bytes(), n.Events()
	}
	log, events := record(func(n *Network[uint64]) { n.Run(second) })
	stepped, steps := record(func(n *Network[uint64]) {
		for n.Step() {
		}
	})
	if events != steps || events < 1400 || !bytes.Equal(log, stepped) {
		t.Errorf("Run: %d events, %d bytes of log; Step: %d, %d: want the same", events, len(log), steps, len(stepped))
	}
}

func TestNetworkErrors(t *testing.T) {
	for _, scheme := range []string{"scheme6", "scheme6-eager", "runtime", "scheme7-nomigration", "nothing"} {
		if _, err := NewNetwork[uint64](Config{Scheme: scheme}); err == nil || !strings.Contains(err.Error(), "want one of scheme1, ") {
			t.Errorf("%s: error %v, want the schemes there are", scheme, err)
		}
	}
	n := newTestNetwork(t, "", 1)
	a, b := n.mustAdd(t, "a", nodeFunc(sink)), n.mustAdd(t, "b", nodeFunc(sink))
	if _, err := n.AddNode("a", nodeFunc(sink)); err == nil || !strings.Contains(err.Error(), `node name "a"`) {
		t.Errorf("second a: error %v", err)
	}
	if _, _, err := n.Connect(a, a, LinkConfig{}, LinkConfig{}); err == nil {
		t.Error("a link of a node to itself: no error")
	}
	if _, _, err := n.Connect(a, b, LinkConfig{}, LinkConfig{Corrupt: 2}); err == nil || err.Error() != "b>a: sim: corrupt 2, want 0 to 1" {
		t.Errorf("bad link back: error %v", err)
	}
	n.mustConnect(t, a, b, LinkConfig{})
	second, _ := n.mustConnect(t, a, b, LinkConfig{})
	if got := n.LinkName(second); got != "a>b#2" {
		t.Errorf("second link is named %s, want a>b#2", got)
	}
}

// relay makes k datagrams circulate between two nodes for ever.
func relay(t testing.TB, scheme string, k int) *Network[uint64] {
	n := newTestNetwork(t, scheme, 1)
	back := [2]LinkID{}
	node := nodeFunc(func(_ wheel.Time, via LinkID, d *Datagram[uint64]) { n.Send(back[via], d) })
	a, b := n.mustAdd(t, "a", node), n.mustAdd(t, "b", node)
	ab, ba := n.mustConnect(t, a, b, LinkConfig{Rate: 1_000_000_000, Delay: 25 * time.Millisecond, Mark: Limit{Packets: 100}})
	back = [2]LinkID{ba, ab}
	for i := range k {
		n.Send(ab, &Datagram[uint64]{Packet: Packet{Size: 1500}, Body: uint64(i)})
	}
	return n
}

func TestTraversalsDoNotAllocate(t *testing.T) {
	n := relay(t, "", 1000)
	n.Run(second)
	until := second
	if got := testing.AllocsPerRun(50, func() { until += 10 * ms; n.Run(until) }); got != 0 {
		t.Errorf("10 ms of traversals allocate %v times, want 0", got)
	}
	if n.InFlight() != 1000 {
		t.Errorf("%d datagrams circulate, want 1000", n.InFlight())
	}
}

func BenchmarkTraversal(b *testing.B) {
	for _, scheme := range []string{"scheme7", "scheme3"} {
		for _, k := range []int{100, 4000} {
			b.Run(fmt.Sprintf("impl=%s/inflight=%d", scheme, k), func(b *testing.B) {
				n := relay(b, scheme, k)
				n.Run(second)
				b.ReportAllocs()
				for b.Loop() {
					n.Step()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "traversals/s")
			})
		}
	}
}

func TestTopologies(t *testing.T) {
	for _, kind := range []string{"dumbbell", "star"} {
		var plan TopologyConfig
		text := `{"kind":"` + kind + `","senders":3,"access":[{"delay":"1ms"},{"delay":"2ms"}],` +
			`"bottleneck":{"rate":8000000,"delay":"10ms"},"return":{"delay":"20ms"}}`
		if err := json.Unmarshal([]byte(text), &plan); err != nil {
			t.Fatal(err)
		}
		n := newTestNetwork(t, "", 1)
		var got []string
		built := &Topology{}
		receiver := nodeFunc(func(now wheel.Time, _ LinkID, d *Datagram[uint64]) {
			got = append(got, fmt.Sprint(d.Body, " at ", now))
			d.From, d.To = d.To, d.From
			out := built.ReceiverOut[min(int(d.Body), len(built.ReceiverOut)-1)]
			n.Send(out, d)
		})
		sender := nodeFunc(func(now wheel.Time, _ LinkID, d *Datagram[uint64]) {
			got = append(got, fmt.Sprint(d.Body, " back at ", now))
		})
		receivers := []Node[uint64]{receiver, receiver, receiver}[:plan.Receivers()]
		built, err := Build(n, plan, []Node[uint64]{sender, sender, sender}, receivers)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			to := built.Receivers[min(i, len(receivers)-1)]
			n.Send(built.SenderOut[i], &Datagram[uint64]{Packet: Packet{Size: 1000}, From: built.Senders[i], To: to, Body: uint64(i)})
		}
		n.Run(second)
		// Each takes 1 ms on the bottleneck. The order is 0, 2 (access of 1 ms), 1 (of 2 ms).
		want := []string{"0 at 13ms", "2 at 14ms", "1 at 16ms", "0 back at 35ms", "2 back at 36ms", "1 back at 40ms"}
		if kind == "star" { // without an access link at the receiver
			want = []string{"0 at 12ms", "2 at 13ms", "1 at 14ms", "0 back at 33ms", "2 back at 34ms", "1 back at 36ms"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
		if c := n.Link(built.Bottleneck).Counts(); c.Delivered != 3 {
			t.Errorf("%s: bottleneck %+v, want 3 delivered", kind, c)
		}
		// A datagram without a route is dropped and counted.
		n.Send(built.SenderOut[0], &Datagram[uint64]{Packet: Packet{Size: 1}, To: 99})
		n.Run(2 * second)
		if r := n.nodes[0].node.(*Router[uint64]); r.Unrouted() != 1 {
			t.Errorf("%s: unrouted = %d, want 1", kind, r.Unrouted())
		}
	}
	n := newTestNetwork(t, "", 1)
	for _, test := range []struct {
		plan TopologyConfig
		want string
	}{
		{TopologyConfig{Kind: "ring", Senders: 1}, `kind "ring", want dumbbell or star`},
		{TopologyConfig{Kind: "star"}, "senders 0, want 1 to 100000"},
		{TopologyConfig{Kind: "star", Senders: 1, Bottleneck: LinkConfig{Corrupt: 2}}, "bottleneck: sim: corrupt 2"},
		{TopologyConfig{Kind: "star", Senders: 1, Access: []LinkConfig{{Corrupt: 2}}}, "access 0: sim: corrupt 2"},
		{TopologyConfig{Kind: "star", Senders: 1}, "0 senders and 0 receivers, want 1 and 1"},
	} {
		if _, err := Build(n, test.plan, nil, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.plan, err, test.want)
		}
	}
}
