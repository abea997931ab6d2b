package tcpwheel_test

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestLayoutFindsWhatIsWrong gives the policy houses with one fault each.
func TestLayoutFindsWhatIsWrong(t *testing.T) {
	const pure = "// Package p is there.\npackage p\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // in the one problem reported; "" for none
	}{
		{"an empty house", map[string]string{}, ""},
		{"rooms in order", map[string]string{
			"wheel/doc.go":        pure,
			"wheel/wheel.go":      "package p\n\nimport \"time\"\n\nconst tick = time.Second\n",
			"tcptimers/doc.go":    pure + "\nimport _ \"tcpwheel/wheel\"\n",
			"netstack/doc.go":     pure + "\nimport _ \"gvisor.dev/gvisor/pkg/tcpip/stack\"\n",
			"netstack/tcp/doc.go": pure + "\nimport _ \"tcpwheel/tcptimers\"\n",
			"netstack/tcp/p_test.go": "package p_test\n\nimport (\n\t_ \"tcpwheel/netstack/sim\"\n\t\"time\"\n)\n\n" +
				"var now = time.Now()\n",
			"netstack/sim/doc.go":        pure + "\nimport _ \"tcpwheel/netstack/tcp\"\n",
			"pcaps/doc.go":               pure + "\nimport _ \"github.com/gopacket/gopacket\"\n",
			"experiments/minrto/main.go": pure + "\nimport _ \"tcpwheel/pcaps\"\n",
			"cmd/tcpwheel/main.go":       pure + "\nimport _ \"tcpwheel/experiments/minrto\"\n",
			"cmd/tcpwheel/main_test.go":  "package p\n\nimport _ \"github.com/rogpeppe/go-internal/testscript\"\n",
		}, ""},
		{"the driver's files", map[string]string{
			"wheel/doc.go": pure,
			"wheel/realtime.go": "package p\n\nimport (\n\t\"os\"\n\t\"time\"\n)\n\nfunc f() {\n" +
				"\tgo time.Sleep(1)\n\tos.Exit(1)\n}\n",
		}, ""},
		{"an instrument with a clock", map[string]string{
			"wheel/wheelbench/doc.go": pure + "\nimport (\n\t_ \"tcpwheel/wheel\"\n\t\"time\"\n)\n\nvar now = time.Now()\n",
		}, ""},
		{"a nested module", map[string]string{
			"wheel/peers/go.mod":       "module peers\n",
			"wheel/peers/peer_test.go": pure + "\nimport _ \"example.org/rival\"\n",
		}, ""},
		{"testdata is not built", map[string]string{"wheel/testdata/x.go": "package  broken\n"}, ""},

		{"an unplanned room", map[string]string{"util/doc.go": pure}, "util is no room of the house"},
		{"a program at the root", map[string]string{"main.go": pure}, "the root holds tests only"},
		{"upwards", map[string]string{"wheel/doc.go": pure + "\nimport _ \"tcpwheel/tcptimers\"\n"},
			"room wheel must not import tcptimers"},
		{"upwards from below", map[string]string{"tcptimers/bsd/b.go": pure + "\nimport _ \"tcpwheel/netstack/tcp\"\n"},
			"room tcptimers must not import netstack/tcp"},
		{"the engine and its binding", map[string]string{"netstack/tcp/doc.go": pure + "\nimport _ \"tcpwheel/netstack\"\n"},
			"room netstack/tcp must not import netstack"},
		{"the wheel and its instrument", map[string]string{"wheel/doc.go": pure + "\nimport _ \"tcpwheel/wheel/wheelbench\"\n"},
			"room wheel must not import wheel/wheelbench"},
		{"the engine and the simulator", map[string]string{"netstack/tcp/doc.go": pure + "\nimport _ \"tcpwheel/netstack/sim\"\n"},
			"room netstack/tcp must not import netstack/sim"},
		{"an unknown room", map[string]string{"cmd/tcpwheel/main.go": pure + "\nimport _ \"tcpwheel/util\"\n"},
			`imports "tcpwheel/util", which is no room`},
		{"gVisor in the core", map[string]string{"netstack/tcp/doc.go": pure + "\nimport _ \"gvisor.dev/gvisor/pkg/tcpip\"\n"},
			"core room netstack/tcp imports the standard library only"},
		{"gVisor in a test of the core", map[string]string{
			"wheel/doc.go":    pure,
			"wheel/a_test.go": "package p\n\nimport _ \"gvisor.dev/gvisor/pkg/tcpip\"\n",
		}, "core room wheel imports the standard library only, also in tests"},
		{"gVisor elsewhere", map[string]string{"pcaps/doc.go": pure + "\nimport _ \"gvisor.dev/gvisor/pkg/tcpip\"\n"},
			"gvisor.dev/gvisor belongs under netstack, tun, cmd only"},
		{"gopacket elsewhere", map[string]string{"cmd/tcpwheel/main.go": pure + "\nimport _ \"github.com/gopacket/gopacket\"\n"},
			"github.com/gopacket/gopacket belongs under pcaps only"},
		{"a test's dependency in production", map[string]string{
			"cmd/tcpwheel/main.go": pure + "\nimport _ \"github.com/rogpeppe/go-internal/testscript\"\n",
		}, "is for tests only"},
		{"an unknown dependency", map[string]string{"tun/doc.go": pure + "\nimport _ \"example.org/x\"\n"},
			`"example.org/x" is no known dependency`},
		{"cgo", map[string]string{"tun/doc.go": pure + "\nimport \"C\"\n"}, "cgo has no place here"},
		{"an unlisted module", map[string]string{"tun/rivals/go.mod": "module rivals\n"}, "tun/rivals/go.mod: a module"},

		{"a clock", map[string]string{"wheel/doc.go": pure + "\nimport \"time\"\n\nvar now = time.Now()\n"},
			"core room wheel reads no clock"},
		{"a clock by another name", map[string]string{"tcptimers/doc.go": pure + "\nimport t \"time\"\n\nvar after = t.AfterFunc\n"},
			"instead of calling time.AfterFunc"},
		{"a clock behind a dot", map[string]string{"wheel/doc.go": pure + "\nimport . \"time\"\n\nvar now = Now()\n"},
			"dot import of time"},
		{"a deadline of the machine", map[string]string{
			"netstack/sim/doc.go": pure + "\nimport \"context\"\n\nvar f = context.WithTimeout\n",
		}, "instead of calling context.WithTimeout"},
		{"a goroutine", map[string]string{"netstack/sim/doc.go": pure + "\nfunc f() { go f() }\n"}, "starts no goroutine"},
		{"the driver's name in another room", map[string]string{
			"tcptimers/doc.go":      pure,
			"tcptimers/realtime.go": "package p\n\nfunc f() { go f() }\n",
		}, "core room tcptimers starts no goroutine"},
		{"I/O", map[string]string{"netstack/tcp/doc.go": pure + "\nimport _ \"net\"\n"}, "does no I/O"},

		{"no package comment", map[string]string{"cmd/tcpwheel/main.go": "package main\n"}, "cmd/tcpwheel: no package comment"},
		{"a room's comment in some file", map[string]string{"wheel/wheel.go": pure}, "wheel: the package comment of a room belongs in doc.go"},
		{"a name that leaves a file out elsewhere", map[string]string{"wheel/doc.go": pure, "wheel/hystart_linux.go": "package p\n"},
			"wheel/hystart_linux.go: the end of its name"},
		{"a test that only one processor has", map[string]string{"wheel/doc.go": pure, "wheel/a_arm64_test.go": "package p\n"},
			"wheel/a_arm64_test.go: the end of its name"},
		{"a driver of Linux", map[string]string{"wheel/doc.go": pure, "wheel/timerfd_linux.go": "package p\n"}, ""},
		{"not formatted", map[string]string{"wheel/doc.go": "// Package p is.\npackage  p\n"}, "run gofmt -w wheel/doc.go"},
		{"not Go", map[string]string{"wheel/doc.go": "packag p\n"}, "make it compile"},

		{"a path in a script", map[string]string{".ci/run": "cd /ho" + "me/someone/tcpwheel\n"}, ".ci/run:1: names a machine's path"},
		{"a path in a string", map[string]string{"README.md": "see\n(/tm" + "p/x.pcap)\n"}, "README.md:2: names a machine's path"},
		{"a registry", map[string]string{"Makefile": "export GOPROXY=" + "https://go.example.org\n"}, "names a module registry"},
		{"a page on the web", map[string]string{"README.md": "https://example.org/ho" + "me/x and net/ro" + "ot/x\n"}, ""},
		{"a capture", map[string]string{"pcaps/testdata/x.pcap": "\x00 /ro" + "ot/x"}, ""},

		{"a dependency without a reason", map[string]string{"go.mod": "module m\n\nrequire (\n\texample.org/x v1.0.0\n)\n"},
			"go.mod:4: say in a comment on the line what example.org/x is for"},
		{"a tool without a reason", map[string]string{"go.mod": "module m\n\ntool example.org/y\n"},
			"go.mod:3: say in a comment on the line what example.org/y is for"},
		{"dependencies with reasons", map[string]string{
			"go.mod": "module m\n\ngo 1.26\n\nrequire example.org/x v1.0.0 // to compare\n\n" +
				"tool (\n\texample.org/y // lints\n)\n",
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			house := policy
			problems, err := house.check(mapFS(test.files))
			if err != nil {
				t.Fatal(err)
			}
			wantProblem(t, problems, test.want)
		})
	}
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	return fsys
}

// wantProblem wants exactly one problem that contains want, or none if want is empty.
func wantProblem(t *testing.T, problems []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) > 0:
		t.Errorf("got %q, want no problem", problems)
	case want != "" && (len(problems) != 1 || !strings.Contains(problems[0], want)):
		t.Errorf("got %q, want one problem with %q", problems, want)
	}
}
