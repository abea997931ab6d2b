package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

type policy string

func (p *policy) UnmarshalText(text []byte) error {
	if string(text) != "bsd" && string(text) != "linux" {
		return fmt.Errorf("no policy")
	}
	*p = policy(text)
	return nil
}

func (p *policy) Allowed() string { return "a policy: bsd or linux" }

type link struct {
	Rate  uint64        `plan:"rate" unit:"rate" min:"1"`
	Delay time.Duration `plan:"delay" min:"0s" max:"1s"`
}

type example struct {
	Policies []policy        `plan:"policies"`
	RTT      []time.Duration `plan:"rtt" min:"1us" max:"10s"`
	Seeds    int             `plan:"seeds" min:"1" max:"10000"`
	Share    float64         `plan:"share" unit:"probability" min:"0" max:"1"`
	Mode     string          `plan:"mode" oneof:"fast slow"`
	Link     link            `plan:"link"`
	SACK     bool            `plan:"sack"`
	Extra    []int           `plan:"extra" optional:"true"`
	Slots    []int           `plan:"slots" min:"4" max:"1024" power:"two"`
	Spans    []time.Duration `plan:"spans" min:"0s" max:"1s" order:"rising"`
	hidden   int
}

type seeds struct {
	Seeds int `plan:"seeds" min:"1" max:"10000"`
}

func TestDecode(t *testing.T) {
	f, err := Parse("p.yaml", []byte("study: tail\npolicies: [bsd, linux]\nrtt: 20ms\nshare: 50%\nmode: "+
		"slow\nlink:\n  delay: 5ms\nsack: true\nextra: []\nslots: [4, 1024]\nspans: [0s, 1ms]\nquick:\n  rtt: "+
		"[1ms, 2ms]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := example{Link: link{Rate: 7}, hidden: 3}
	if err := f.Decode(&p, false); err != nil {
		t.Fatal(err)
	}
	if f.Study != "tail" || fmt.Sprint(p) != "{[bsd linux] [20ms] 0 0.5 slow {7 5ms} true [] [4 1024] [0s 1ms] 3}" {
		t.Errorf("study %q, plan %v", f.Study, p)
	}
	if err := f.Decode(&p, true); err != nil || fmt.Sprint(p.RTT) != "[1ms 2ms]" {
		t.Errorf("quick: %v, %v", p.RTT, err)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "p.yaml: empty, want a mapping of keys to values"},
		{"[1]", "p.yaml:1: want a mapping of keys to values"},
		{"a: [", "p.yaml:2: not YAML: did not find expected node content"},
		{"a: 1\n---\nb: 2", "p.yaml:2: a document more, want one"},
		{"rtt: &x 1ms\nseeds: *x", "p.yaml:1: anchors and aliases are not read"},
		{"rtt: 1ms\nrtt: 2ms", "p.yaml:2: rtt: appears twice"},
		{"study: [a]", "p.yaml:1: study: want the name of a study"},
		{"quick: 3", `p.yaml:1: quick: "3", want a mapping of keys to the values of a quick run`},
		{"\nrtts: 1ms", "p.yaml:2: rtts: no such key, want one of policies, rtt, seeds, share, mode, link, sack, " +
			"extra, slots, spans, quick, study"},
		{"link:\n  rate: 1.5", `p.yaml:2: link.rate: "1.5", want a rate in bit/s such as 100Mbit or 1e8, 1 or more`},
		{"rtt: 20", `p.yaml:1: rtt: "20", want a duration such as 20ms, 1us to 10s`},
		{"rtt: [1ms, 20s]", `p.yaml:1: rtt: "20s", want a duration such as 20ms, 1us to 10s`},
		{"rtt: []", "p.yaml:1: rtt: want at least one value"},
		{"share: nan", `p.yaml:1: share: "nan", want a probability such as 0.02 or 2%, 0 to 1`},
		{"share: 2", `p.yaml:1: share: "2", want a probability such as 0.02 or 2%, 0 to 1`},
		{"mode: medium", `p.yaml:1: mode: "medium", want one of fast, slow`},
		{"sack: yes", `p.yaml:1: sack: "yes", want true or false`},
		{"policies: reno", `p.yaml:1: policies: "reno", no policy; want a policy: bsd or linux`},
		{"link: fast", `p.yaml:1: link: "fast", want a mapping with the keys rate, delay`},
		{"link:\n  rate: 0", `p.yaml:2: link.rate: "0", want a rate in bit/s such as 100Mbit or 1e8, 1 or more`},
		{"link:\n  loss: 0", "p.yaml:2: link.loss: no such key, want one of rate, delay"},
		{"slots: [8, 12]", `p.yaml:1: slots: "12", want a power of two, 4 to 1024`},
		{"slots: 2048", `p.yaml:1: slots: "2048", want a power of two, 4 to 1024`},
		{"spans:\n- 1ms\n- 1ms", `p.yaml:3: spans: "1ms", want more than the value before it`},
		{"spans: [2ms, 1ms]", `p.yaml:1: spans: "1ms", want more than the value before it`},
		{"spans: [1ms, 2s]", `p.yaml:1: spans: "2s", want a duration such as 20ms, 0s to 1s`},
		{"slots: 0", `p.yaml:1: slots: "0", want a power of two, 4 to 1024`},
		{"quick:\n  rtt: 0", `p.yaml:2: rtt: "0", want a duration such as 20ms, 1us to 10s`},
		{"rtt: ~", `p.yaml:1: rtt: want at least one value`},
	} {
		f, err := Parse("p.yaml", []byte(c.text))
		if err == nil {
			var p example
			err = f.Decode(&p, false)
		}
		if err == nil || strings.ReplaceAll(err.Error(), `"~", `, "") != c.want {
			t.Errorf("plan %q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestLocate has errors of whoever checks values together begin with the line of the key that they
// are about.
func TestLocate(t *testing.T) {
	const text = "rtt: 1ms\nseeds: 3\nlist:\n  - {a: 1}\n  - a: 2\n    where:\n      b: 3\nquick:\n  seeds: 2\n"
	f, err := Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err   string
		quick bool
		want  string
	}{
		{"seeds: 3, want 4", false, "p.yaml:2: "},
		{"seeds: 2, want 4", true, "p.yaml:9: "},
		{"rtt: 1ms, want 2ms", true, "p.yaml:1: "},
		{"warmup: 3 for 3 seeds", false, "p.yaml:2: "},
		{"list, number 1: a 1, want 2", false, "p.yaml:4: "},
		{"list, number 2: a 2, want 1", false, "p.yaml:5: "},
		{"list, number 2: where b: 3", false, "p.yaml:7: "},
		{"list, number 3: a 2", false, "p.yaml:3: "},
		{"rttvar: 3, want 4", false, "p.yaml: "},
		{"no key is named", true, "p.yaml: "},
	} {
		e := errors.New(c.err)
		if got := f.Locate(e, c.quick); got.Error() != c.want+c.err || !errors.Is(got, e) {
			t.Errorf("Locate(%q, %v) = %v, want %s before it", c.err, c.quick, got, c.want)
		}
	}
}

// TestSyntax has errors of the decoder name the right line, though its parser counts from 0 and its
// scanner from 1.
func TestQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "study: x\n# not at the top\n": "", "# Is it  late?\nstudy: x\n": "Is it late?",
		"#One\r\n#  two.\n\n# three\n": "One two.",
	} {
		if got := Question(text); got != want {
			t.Errorf("Question(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestSyntax(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb: [1\n", "p.yaml:2: not YAML: did not find"},
		{"a: 1\nb:\n\tc: 3\n", "p.yaml:3: not YAML: found character"},
		{"a: 1\nb: 2\nc: d: e\n", "p.yaml:3: not YAML: mapping values"},
	} {
		if _, err := Parse("p.yaml", []byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("plan %q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestAllFaultsAreTold(t *testing.T) {
	f, err := Parse("p.yaml", []byte("seeds: 0\nseed: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	var p seeds
	err = f.Decode(&p, false)
	want := "p.yaml:1: seeds: \"0\", want a whole number, 1 to 10000\np.yaml:2: seed: no such key, want one of " +
		"seeds, quick, study"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("policies: [bsd]\nrtt: 1ms\nlink: {rate: 1}\nquick: {seeds: 1}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("p.yaml", []byte(text))
		if err != nil {
			return
		}
		var p struct {
			seeds
			Policies []policy        `plan:"policies"`
			RTT      []time.Duration `plan:"rtt" min:"1us" max:"10s"`
			Link     link            `plan:"link"`
		}
		if file.Decode(&p, true) == nil {
			for _, rtt := range p.RTT {
				if rtt < time.Microsecond || rtt > 10*time.Second {
					t.Errorf("%q: rtt %v beyond its bounds", text, rtt)
				}
			}
		}
	})
}

func TestKeys(t *testing.T) {
	type place struct {
		Port int `plan:"port" min:"1"`
	}
	type plan struct {
		RTT    []time.Duration `plan:"rtt" min:"1us" max:"10s" help:"without queues"`
		Rate   *uint64         `plan:"rate" unit:"rate"`
		Where  []place         `plan:"where"`
		Policy string          `plan:"policy" oneof:"bsd linux"`
		Of     int
	}
	want := []Key{
		{"rtt", "list: a duration such as 20ms, 1us to 10s", "without queues"},
		{"rate", "a rate in bit/s such as 100Mbit or 1e8", ""},
		{"where", "list: a mapping with the keys port", ""},
		{"policy", "one of bsd, linux", ""},
	}
	if got := Keys(new(plan)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
