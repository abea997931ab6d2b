package browser

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/tun/up"
)

// liveHost runs a host in a namespace, with the demo's page, and returns the page's address.
// get downloads n bytes over the link.
func liveHost(t *testing.T, c up.Config) (h *up.Host, url string, get func(n string)) {
	t.Helper()
	ns := netns.Test(t)
	c.Netns, c.Status, c.Page = ns.Path(), "127.0.0.1:0", demo.NewLive
	c.Addrs, c.HostAddrs = []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}, []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}
	h, err := up.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	_, url, _ = strings.Cut(h.String(), "status at ")
	return h, url + "/", func(n string) {
		t.Helper()
		if err := download(ns, n); err != nil {
			t.Fatal(err)
		}
	}
}

// download gets n bytes from the host behind a namespace.
func download(ns *tun.Namespace, n string) error {
	dial := func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = ns.Do(func() error {
			c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return err
		})
		return c, err
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: time.Minute}
	r, err := web.Get("http://10.7.0.2/bytes/" + n)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

// TestLivePage looks at the page of a running stack behind a lossy link: the wheel, packets, losses
// and repairs by their timers, and connections.
func TestLivePage(t *testing.T) {
	h, url, get := liveHost(t, up.Config{
		Policy: "per-segment", Seed: 7, KeepAlive: net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: time.Second, Count: 3},
		Link: sim.LinkConfig{Delay: 5 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}},
	})
	ctx := open(t, url, 1400, 900)
	await(t, ctx, "its first frame", `demo.frame && demo.frame.live && demo.frame.lanes[0].lane === "per-segment"`)
	await(t, ctx, "that nothing is connected", `!document.querySelector(".idle").hidden && document.querySelector(".shown").hidden`)
	get("1000000")
	await(t, ctx, "recoveries", `demo.frame.lanes[0].recoveries > 5 && demo.frame.lanes[0].recovery_ms.length > 5`)
	await(t, ctx, "losses of the link", `demo.lanes[0].packets.some(p => p.mark && p.fate === "lost") || demo.frame.lanes[0].lost > 5`)
	await(t, ctx, "retransmissions", `demo.lanes[0].packets.filter(p => p.again).map(p => packetText("per-segment", p, null, x => "")).join().includes("retransmitted by")`)
	await(t, ctx, "a wheel at work", `demo.frame.lanes[0].wheel.slots >= 64 && demo.frame.lanes[0].timers_started >= 100`)
	await(t, ctx, "its configuration", `document.body.innerText.includes("policy per-segment") && document.body.innerText.includes("seed 7")`)
	screenshot(t, ctx, "up-1400")
	if text := evaluate[string](t, ctx, `document.body.innerText`); strings.Contains(text, "lose the end") {
		t.Errorf("the page of a running stack says %s", text)
	}
	if r := h.Report(up.Selection{}); r.Changes == nil || r.Changes.Started == 0 {
		t.Errorf("the report has %+v started timers", r.Changes)
	}
}

// TestLivePageSteersNothing asks for controls, which a running stack lacks, and reads by another
// name, as a page of another site would.
func TestLivePageSteersNothing(t *testing.T) {
	_, url, _ := liveHost(t, up.Config{TCP: up.GVisor})
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "", "", 200}, {"POST", "control", "", 405}, {"GET", "", "example.org", 403}, {"GET", "frames", "example.org", 403}, {"GET", "lane/0.pcapng", "", 404},
	} {
		r, err := http.NewRequest(c.method, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.host != "" {
			r.Host = c.host
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s /%s as %q: status %d, want %d", c.method, c.path, c.host, answer.StatusCode, c.want)
		}
	}
}

// TestLivePageOfGVisor shows what gVisor's TCP has: packets and recoveries, but no timers.
func TestLivePageOfGVisor(t *testing.T) {
	_, url, get := liveHost(t, up.Config{TCP: up.GVisor, Seed: 7,
		Link: sim.LinkConfig{Delay: 5 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}}})
	ctx := open(t, url, 400, 800)
	await(t, ctx, "its first frame", `demo.frame && demo.frame.live && demo.frame.lanes[0].lane === "gvisor"`)
	get("300000")
	await(t, ctx, "recoveries without a wheel", `demo.frame.lanes[0].recoveries > 1 && !demo.frame.lanes[0].wheel`)
	screenshot(t, ctx, "up-400")
	if wide := evaluate[float64](t, ctx, `document.documentElement.scrollWidth`); wide > 400 {
		t.Errorf("the page is %v pixels wide, want 400", wide)
	}
}
