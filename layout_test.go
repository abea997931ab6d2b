// Package tcpwheel_test tests the project's own rules: which room may import which, what core rooms
// may not do, how RFCs are cited, plain words, and that the documentation shows commands and tests
// that exist.
package tcpwheel_test

import (
	"os"
	"slices"
	"sync"
	"testing"
)

// policy says which room may import which. A directory belongs to the room with the longest path
// that leads to it.
var policy = layout{
	module: "tcpwheel",

	rooms: []room{
		// The tests of the house read its files and run its commands, and import none of it.
		{path: "."},

		{path: "wheel", core: true, exempt: []string{
			"realtime.go", // the real-time driver: the one place where a wheel meets a clock
			"realtime_serve.go",
			"alarm.go",           // the clock that it sleeps on
			"timerfd_linux.go",   // which is a timerfd on Linux
			"hugepages_linux.go", // advice to the kernel about a large arena's pages
			"runtime.go",         // the Go runtime's timers, a rival
		}},
		// It measures the wheel by the machine's clock.
		{path: "wheel/wheelbench", imports: []string{"wheel"}},

		{path: "tcptimers", core: true, imports: []string{"wheel"}},
		{path: "netstack/tcp", core: true, imports: []string{"wheel", "tcptimers"}, tests: []string{"netstack/sim"}},
		{path: "netstack/sim", core: true, imports: []string{"wheel", "tcptimers", "netstack/tcp"}},
		{path: "netstack", imports: []string{"wheel", "tcptimers", "netstack/tcp", "netstack/sim"}},
		{path: "tun", imports: []string{"wheel", "tcptimers", "netstack", "netstack/tcp", "netstack/sim"}},
		{path: "pcaps", imports: []string{"wheel", "tcptimers", "netstack/tcp", "netstack/sim"}},
		{path: "experiments", imports: []string{
			"wheel", "wheel/wheelbench",
			"tcptimers", "netstack/tcp", "netstack/sim", "netstack", "tun", "pcaps",
		}},
		{path: "cmd", imports: []string{
			"wheel", "wheel/wheelbench",
			"tcptimers", "netstack/tcp", "netstack/sim", "netstack", "tun", "pcaps", "experiments",
		}},
	},

	// Modules of their own, whose dependencies users of this module do not inherit.
	nested: []string{"wheel/peers", "netstack/programs", "pcaps/corpus/peers", "cmd/tcpwheel/tcpwheel-corpus", "cmd/tcpwheel/browser", "cmd/tcpwheel/man"},

	deps: []dependency{
		{path: "gvisor.dev/gvisor", rooms: []string{"netstack", "tun", "cmd"}},
		{path: "golang.org/x/net/bpf", rooms: []string{"pcaps"}},
		{path: "golang.org/x/net", rooms: []string{"netstack"}, testsOnly: true},
		{path: "golang.org/x/sys", rooms: []string{"netstack", "tun", "pcaps"}},
		{path: "github.com/vishvananda/netlink", rooms: []string{"tun"}},
		{path: "github.com/VictoriaMetrics/metrics", rooms: []string{"tun", "pcaps"}},
		{path: "github.com/gopacket/gopacket", rooms: []string{"pcaps"}},
		{path: "github.com/google/gopacket", rooms: []string{"pcaps"}},
		{path: "github.com/klauspost/compress", rooms: []string{"pcaps"}},
		{path: "maragu.dev/gomponents", rooms: []string{"pcaps", "experiments", "tun"}},
		{path: "go.yaml.in/yaml/v3", rooms: []string{"experiments"}},
		{path: "github.com/spf13/cobra", rooms: []string{"cmd"}},
		{path: "github.com/spf13/pflag", rooms: []string{"cmd"}},
		{path: "github.com/rogpeppe/go-internal", rooms: []string{"cmd"}, testsOnly: true},
	},

	// What reads the machine's clock or waits for it.
	clock: map[string][]string{
		"time":    {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	},

	// What a core without I/O has no use for.
	io: []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall"},

	// Devices, namespaces, packet sockets and timerfds are Linux's, and so are their tests.
	systems: []string{
		"tun/",
		"wheel/timerfd_linux.go",
		"wheel/timerfd_linux_test.go",
		"wheel/hugepages_linux.go",
		"netstack/sockets/errors_linux_test.go",
		"netstack/testnet/cost_linux_test.go",
		"pcaps/capture/gopacket_linux_test.go",
		"pcaps/watch/listen_linux.go",
		"pcaps/watch/ring_linux.go",
		"experiments/tail/real_linux_test.go",
		"cmd/tcpwheel/browser/live_linux_test.go",
		"cmd/tcpwheel/browser/watch_linux_test.go",
		"cmd/tcpwheel/internal/cli/analyze_linux_test.go",
		"cmd/tcpwheel/internal/cli/examples_linux_test.go",
		"cmd/tcpwheel/internal/cli/link_linux_test.go",
		"cmd/tcpwheel/internal/cli/replay_linux_test.go",
		"cmd/tcpwheel/internal/cli/rootless_linux.go",
		"cmd/tcpwheel/internal/cli/rootless_linux_test.go",
		"cmd/tcpwheel/internal/cli/up_linux_test.go",
		"cmd/tcpwheel/internal/cli/watch_linux_test.go",
		"cmd/tcpwheel/internal/cli/bomb_linux_test.go",
		"cmd/tcpwheel/internal/cli/watch_load_linux_test.go",
		"cmd/tcpwheel/internal/cli/watch_memory_linux_test.go",
		"cmd/tcpwheel/internal/demo/live_linux.go",
	},
}

// checked is what breaks the policy in the project's tree, looked for once for all tests.
var checked = sync.OnceValues(func() ([]string, error) { return policy.check(os.DirFS(".")) })

func TestLayout(t *testing.T) {
	problems, err := checked()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestExceptionsAreNeeded keeps the lists of exceptions short: each file on them exists and needs
// the exception.
func TestExceptionsAreNeeded(t *testing.T) {
	if _, err := checked(); err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(policy.systems)
	for _, r := range policy.rooms {
		for _, name := range r.exempt {
			names = append(names, r.path+"/"+name)
		}
	}
	for _, name := range names {
		if !policy.used[name] {
			t.Errorf("%s needs no exception any more: take it off the list in layout_test.go", name)
		}
	}
}
