package link

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
)

func TestConfigErrorsNameFieldValueAndBound(t *testing.T) {
	good := func() Config {
		return Config{Sides: [2]Side{{Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/24")}}, {Addrs: []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}}}}
	}
	if c := good(); c.Check() != nil {
		t.Fatal(c.Check())
	}
	for _, test := range []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.Sides[1].Addrs = nil }, "no address for b"},
		{func(c *Config) { c.Sides[0].Device = "a/b" }, `a: device name "a/b" with`},
		{func(c *Config) { c.Sides[0].Addrs[0] = netip.Prefix{} }, "for a, want one with a prefix length"},
		{func(c *Config) { c.Sides[0].Addrs[0] = netip.MustParsePrefix("224.0.0.1/24") }, "address 224.0.0.1 for a"},
		{func(c *Config) { c.Sides[1].Addrs[0] = c.Sides[0].Addrs[0] }, "address 10.9.0.1 for both"},
		{func(c *Config) { c.MTU = 67 }, "MTU 67, want 68 to 65535"},
		{func(c *Config) { c.PathMTU = 65536 }, "path MTU 65536, want 68 to 65535"},
		{func(c *Config) { c.Links[1].Delay = -1 }, "b-to-a: sim: delay -1ns, want 0s"},
		{func(c *Config) { c.MakeNamespaces = true }, "no name for the namespace of a"},
		{func(c *Config) { c.MakeNamespaces, c.Sides[0].Netns, c.Sides[1].Netns = true, "x", "x" }, "namespace x for both"},
	} {
		c := good()
		test.spoil(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one with %q", err, test.want)
		}
	}
}

func TestPlan(t *testing.T) {
	links, err := ParsePlan([]byte(`{"a_to_b": {"delay": "5ms", "loss": "packets:3"}}`))
	if want := (sim.LinkConfig{Delay: 5 * time.Millisecond, Loss: sim.Losses{sim.PacketNumbers{3}}}); err != nil || !reflect.DeepEqual(links, [2]sim.LinkConfig{want, {}}) {
		t.Errorf("got %+v, %v", links, err)
	}
	links, err = ParsePlan([]byte(`{"both": {"rate": 1000}}`))
	if err != nil || links[0].Rate != 1000 || links[1].Rate != 1000 {
		t.Errorf("got %+v, %v", links, err)
	}
	for text, want := range map[string]string{
		`{"a_to_c": {}}`:                  `"a_to_c"`,
		`{"both": {}, "a_to_b": {}}`:      "want either",
		`{"b_to_a": {"delay": "-1s"}}`:    `b_to_a: sim: link: delay "-1s", want a duration such as 20ms, 0s to 24h`,
		`{"b_to_a": {"dealy": "1s"}}`:     `"dealy"`,
		`{"seed": 1}`:                     "plan: seed",
		`{} {}`:                           "more than one",
		`{"a_to_b": {"loss": "packs:1"`:   "plan: ",
		`{"a_to_b": {"loss": "packs:1"}}`: `a_to_b: sim: link: loss "packs:1", want none`,
	} {
		if _, err := ParsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
