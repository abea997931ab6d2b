package up

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"tcpwheel/netstack/sim"
)

func prefixes(list ...string) (p []netip.Prefix) {
	for _, s := range list {
		p = append(p, netip.MustParsePrefix(s))
	}
	return p
}

func TestCheck(t *testing.T) {
	with := func(change func(*Config)) Config {
		c := Config{Addrs: prefixes("10.7.0.2/24"), HostAddrs: prefixes("10.7.0.1/24")}
		change(&c)
		return c
	}
	for _, test := range []struct {
		c    Config
		want string // in the error; "" is no error
	}{
		{with(func(c *Config) {}), ""},
		{with(func(c *Config) { c.TCP = GVisor }), ""},
		{with(func(c *Config) { c.Policy = "datacenter@1us" }), ""},
		{with(func(c *Config) { c.Addrs = nil }), "no address for the stack"},
		{with(func(c *Config) { c.HostAddrs = nil }), "no address for the kernel"},
		{with(func(c *Config) { c.Addrs = []netip.Prefix{{}} }), "with a prefix length"},
		{with(func(c *Config) { c.Addrs = prefixes("::ffff:10.7.0.2/120") }), "with a prefix length"},
		{with(func(c *Config) { c.Addrs = prefixes("0.0.0.0/0") }), "address 0.0.0.0"},
		{with(func(c *Config) { c.Addrs = c.HostAddrs }), "address 10.7.0.1 twice"},
		{with(func(c *Config) { c.Addrs = prefixes("fd07::2/64") }), "none of that family"},
		{with(func(c *Config) { c.MTU = 65536 }), "MTU 65536, want 68 to 65535"},
		{with(func(c *Config) { c.TCP = "bsd" }), `TCP "bsd"`},
		{with(func(c *Config) { c.Policy = "x" }), `unknown policy "x"`},
		{with(func(c *Config) { c.TCP = GVisor; c.Policy = "bsd" }), `policy "bsd" with TCP gvisor`},
		{with(func(c *Config) { c.Policy = "linux cc=x" }), `"x"`},
		{with(func(c *Config) { c.Link.Loss = sim.Losses{sim.Bernoulli{P: 2}} }), "bernoulli"},
	} {
		err := test.c.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check(%+v) = %v, want %q", test.c, err, test.want)
		}
	}
}

// TestLateOriginals: policies with a timer for each segment learn from late packets, as
// netstack.DefaultConfig does, and no others unless they are told to.
func TestLateOriginals(t *testing.T) {
	for policy, want := range map[string]bool{
		"": true, "per-segment": true, "per-segment@1ms floor=1s": true, "per-segment -late-originals": false,
		"datacenter": true, "linux": false, "linux +late-originals": true, "bsd": false,
	} {
		cfg, err := (&Config{Policy: policy}).protocol()
		if err != nil || cfg.Conn.LateOriginals != want {
			t.Errorf("policy %q: LateOriginals %t, %v, want %t", policy, cfg.Conn.LateOriginals, err, want)
		}
	}
}

// TestContent reads the bytes in pieces and from any offset. They are the same.
func TestContent(t *testing.T) {
	all, err := io.ReadAll(&Content{Size: 1003})
	if err != nil || len(all) != 1003 {
		t.Fatalf("read %d bytes, %v, want 1003", len(all), err)
	}
	if err := iotest.TestReader(&Content{Size: 1003}, all); err != nil {
		t.Error(err)
	}
	more, _ := io.ReadAll(&Content{Size: 5000})
	if sha256.Sum256(more[:1003]) != sha256.Sum256(all) {
		t.Error("the first 1003 of 5000 bytes differ from those of 1003")
	}
	if _, err := (&Content{}).Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek before the beginning gave no error")
	}
}

// TestContentIsTheMix reads pieces of every size from every offset, and compares them with the
// specification.
func TestContentIsTheMix(t *testing.T) {
	var all []byte
	for i := range uint64(10) {
		all = binary.LittleEndian.AppendUint64(all, mix(i+1))
	}
	for from := range len(all) {
		for n := range len(all) - from {
			c := &Content{Size: int64(len(all))}
			c.Seek(int64(from), io.SeekStart)
			got := make([]byte, n)
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, all[from:from+n]) || c.off != int64(from+n) {
				t.Fatalf("%d bytes from %d are %x, %v, want %x", n, from, got, err, all[from:from+n])
			}
		}
	}
}

// TestChargenLines: each line begins one character after the previous one, as in the example of
// chargen's RFC.
func TestChargenLines(t *testing.T) {
	lines := strings.SplitAfter(string(chargenLines()), "\r\n")
	if len(lines) != 96 || lines[95] != "" {
		t.Fatalf("%d lines, want 95", len(lines)-1)
	}
	for i, line := range lines[:95] {
		if len(line) != 74 || line[0] != byte(' '+i) || line[:71] != lines[(i+94)%95][1:72] {
			t.Errorf("line %d is %q after %q", i, line, lines[(i+94)%95])
		}
	}
}
