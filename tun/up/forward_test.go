package up

import (
	"strings"
	"testing"
)

func TestParseForward(t *testing.T) {
	for text, want := range map[string]Forward{
		"8080:127.0.0.1:80":                       {Port: 8080, Host: "127.0.0.1", HostPort: 80},
		"0:10.7.0.1:80":                           {Host: "10.7.0.1", HostPort: 80},
		"8080:localhost:80":                       {Port: 8080, Host: "localhost", HostPort: 80},
		"10.7.0.2:8080:127.0.0.1:80":              {Bind: "10.7.0.2", Port: 8080, Host: "127.0.0.1", HostPort: 80},
		"*:8080:[fd07::1]:80":                     {Bind: "*", Port: 8080, Host: "fd07::1", HostPort: 80},
		"[fd07::2]:65535:[fe80::1%lo]:1":          {Bind: "fd07::2", Port: 65535, Host: "fe80::1%lo", HostPort: 1},
		"[::]:8080:xn--bcher-kva.example:80":      {Bind: "::", Port: 8080, Host: "xn--bcher-kva.example", HostPort: 80},
		"[fd07::2]:8080:host-with-dashes.test:80": {Bind: "fd07::2", Port: 8080, Host: "host-with-dashes.test", HostPort: 80},
	} {
		f, err := ParseForward(text)
		if err != nil || f != want || f.String() != text {
			t.Errorf("ParseForward(%q) = %+v, %v, want %+v", text, f, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "want [ADDR:]PORT:HOST:HOSTPORT",
		"80":                    "want [ADDR:]PORT:HOST:HOSTPORT",
		"80:90":                 "want [ADDR:]PORT:HOST:HOSTPORT",
		"1:2:3:4:5":             "want [ADDR:]PORT:HOST:HOSTPORT",
		"fd07::2:80:host:80":    "want [ADDR:]PORT:HOST:HOSTPORT",
		":80:host:80":           "want an address before the first colon",
		"http:host:80":          `port "http"`,
		"80:host:65536":         `port "65536"`,
		"-1:host:80":            `port "-1"`,
		"80:host:":              `port ""`,
		"80::80":                "want a host",
		"80:[fd07::1:80":        "after ]",
		"80:[fd07::1]80":        "after ]",
		"80:[10.7.0.1]:80":      "want an IPv6 address within []",
		"[]:80:host:80":         "want an IPv6 address within []",
		"[fd07::2]:80:[host]:1": "want an IPv6 address within []",
	} {
		if f, err := ParseForward(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseForward(%q) = %+v, %v, want %s", text, f, err, want)
		}
	}
}

// FuzzParseForward: String returns the text that ParseForward read.
func FuzzParseForward(f *testing.F) {
	for _, text := range []string{"8080:127.0.0.1:80", "[fd07::2]:65535:[fe80::1%lo]:1", "*:0:a:1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one, err := ParseForward(text)
		if err != nil {
			return
		}
		if two, err := ParseForward(one.String()); err != nil || two != one {
			t.Errorf("%q is %+v, and %q is %+v, %v", text, one, one.String(), two, err)
		}
	})
}

func TestCheckForwards(t *testing.T) {
	c := Config{Addrs: prefixes("10.7.0.2/24", "fd07::2/64"), HostAddrs: prefixes("10.7.0.1/24", "fd07::1/64")}
	only4 := Config{Addrs: c.Addrs[:1], HostAddrs: c.HostAddrs}
	for _, test := range []struct {
		c               Config
		expose, forward string
		want            string // in the error; "" is no error
	}{
		{c, "8080:localhost:80", "", ""},
		{c, "10.7.0.2:80:localhost:80,[fd07::2]:80:localhost:80", "", ""},
		{c, "[fd07:0::2]:80:localhost:80", "", ""},
		{c, "10.7.0.1:80:localhost:80", "", "expose 10.7.0.1:80:localhost:80: address 10.7.0.1, want one of the stack"},
		{c, "*:80:localhost:80", "", ""},
		{c, "localhost:80:localhost:80", "", "address localhost, want one of the stack"},
		{c, "0:localhost:80", "", "port 0, want 1 to 65535"},
		{c, "80:localhost:0", "", "port 0, want 1 to 65535"},
		{c, "80:localhost:1,[fd07::2]:80:localhost:2", "", "[fd07::2]:80 is exposed already"},
		{c, "", "0:10.7.0.1:80,*:80:[fd07::1]:80,127.0.0.1:1:10.7.0.1:2", ""},
		{c, "", "0:host:80", `host "host", want an IP address`},
		{c, "", "0:10.7.0.1:0", "port 0, want 1 to 65535"},
		{c, "", "localhost:0:10.7.0.1:1", `address "localhost" to listen at`},
		{only4, "", "0:[fd07::1]:80", "address fd07::1, but the stack has none of that family"},
	} {
		for list, to := range map[string]*[]Forward{test.expose: &test.c.Expose, test.forward: &test.c.Forward} {
			for text := range strings.SplitSeq(list, ",") {
				if f, err := ParseForward(text); err == nil {
					*to = append(*to, f)
				}
			}
		}
		err := test.c.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("expose %q, forward %q: %v, want %q", test.expose, test.forward, err, test.want)
		}
	}
}
