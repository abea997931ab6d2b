package testnet_test

import (
	"net/http"
	"testing"
	"time"

	"tcpwheel/netstack/testnet"
)

// TestLinkLanguage: every kind of path does its own thing to a download of 300 kB.
func TestLinkLanguage(t *testing.T) {
	const size = 300_000
	plain := testnet.Path{Delay: 10 * time.Millisecond, Rate: "20Mbit"}
	with := func(change func(*testnet.Path)) testnet.Path {
		p := plain
		change(&p)
		return p
	}
	download := func(t *testing.T, p testnet.Path) (took time.Duration, c testnet.Counts) {
		bubble(t, p, func(t *testing.T, n *testnet.Net) {
			go http.Serve(n.Listen(":80"), page(size))
			if got, err := get(n.HTTPClient(), "http://server/"); got != size || err != nil {
				t.Fatal(got, err)
			}
			took, c = n.Now(), n.Counts()
		})
		return took, c
	}
	repairs := func(c testnet.Counts) int { return int(c.FastRetransmits + c.Probes + c.Timeouts) }
	base, none := download(t, plain)
	if none.Lost != 0 || base < size*8*time.Second/20e6 {
		t.Fatalf("without losses: %v, %v", base, none)
	}
	for name, test := range map[string]struct {
		path testnet.Path
		ok   func(took time.Duration, c testnet.Counts) bool
	}{
		"delay": {with(func(p *testnet.Path) { p.Delay = 50 * time.Millisecond }),
			func(took time.Duration, c testnet.Counts) bool {
				return took > base+160*time.Millisecond && c.Lost == 0
			}},
		"rate": {with(func(p *testnet.Path) { p.Rate = "1Mbit" }),
			func(took time.Duration, c testnet.Counts) bool {
				return took > 2400*time.Millisecond && took < 3*time.Second
			}},
		"trace": {with(func(p *testnet.Path) { p.Rate = "trace:sample:cellular" }),
			func(took time.Duration, c testnet.Counts) bool { return took != base && c.Lost == 0 }},
		"queue": {with(func(p *testnet.Path) { p.Queue = "10" }),
			func(took time.Duration, c testnet.Counts) bool { return c.Lost > 0 && c.FastRetransmits > 0 }},
		"loss": {with(func(p *testnet.Path) { p.Loss = "2%" }),
			func(_ time.Duration, c testnet.Counts) bool { return c.Lost > 1 && repairs(c) > 0 }},
		"bursts": {with(func(p *testnet.Path) { p.Loss = "gilbert-elliott:p=1%,r=50%" }),
			func(_ time.Duration, c testnet.Counts) bool { return c.Lost > 1 && repairs(c) > 0 }},
		"outage": {with(func(p *testnet.Path) { p.Loss = "outages:100ms-2s" }),
			func(took time.Duration, c testnet.Counts) bool { return took > 2*time.Second && c.Timeouts > 0 }},
		"range": {with(func(p *testnet.Path) { p.Down = "loss=ranges:100000-101448@1" }),
			func(took time.Duration, c testnet.Counts) bool { return c.Lost >= 1 && c.Lost <= 2 && c.Timeouts == 0 }},
		"ranges twice": {with(func(p *testnet.Path) { p.Down = "loss=ranges:100000-100001@1,100000-100001@2" }),
			func(took time.Duration, c testnet.Counts) bool { return c.Lost == 2 }},
		"jitter": {with(func(p *testnet.Path) { p.More = "jitter=5ms" }),
			func(took time.Duration, c testnet.Counts) bool { return took != base && c.Lost == 0 }},
		"reordering and copies": {with(func(p *testnet.Path) { p.More = "reorder=5% duplicate=5%" }),
			func(took time.Duration, c testnet.Counts) bool { return c.Lost == 0 }},
		"corruption": {with(func(p *testnet.Path) { p.More = "corrupt=2%" }),
			func(_ time.Duration, c testnet.Counts) bool { return c.Lost == 0 && repairs(c) > 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			if took, c := download(t, test.path); !test.ok(took, c) {
				t.Errorf("%v, %v; without the change %v", took, c, base)
			}
		})
	}
}

// TestOneDirection: Up and Down are seen from the host whose path it is.
func TestOneDirection(t *testing.T) {
	for _, test := range []struct {
		path  testnet.Path
		first time.Duration // until the client is connected
	}{
		{testnet.Path{Delay: 10 * time.Millisecond, Up: "delay=70ms"}, 80 * time.Millisecond},
		{testnet.Path{Delay: 10 * time.Millisecond, Down: "delay=30ms"}, 40 * time.Millisecond},
		{testnet.Path{Up: "loss=packets:1"}, time.Second},
		{testnet.Path{Down: "loss=packets:1"}, time.Second},
	} {
		bubble(t, test.path, func(t *testing.T, n *testnet.Net) {
			n.Listen(":80")
			if _, err := n.Dial("tcp", "server:80"); err != nil {
				t.Fatal(err)
			}
			if took := n.Now().Round(time.Microsecond); took != test.first {
				t.Errorf("%+v: connected after %v, want %v", test.path, took, test.first)
			}
		})
	}
}
