package interop

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"tcpwheel/tun"
)

// TestSizes sends streams of many lengths in both directions at once.
func TestSizes(t *testing.T) {
	t.Parallel()
	forPairs(t, allPairs, plan{}, func(t *testing.T, n *network) {
		forFamilies(t, n, func(t *testing.T, n *network, v6 bool) {
			for _, size := range []int{0, 1, 2, 535, 536, 1000, 1447, 1448, 1449, 65535, 65536, fewer(8 << 20)} {
				a, b := n.connect(v6)
				n.exchange(t, a, b, size)
				a.Close()
				b.Close()
			}
		})
	})
}

// TestLinks sends over devices of other kinds.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]plan{
		"no-offload":   {tun: tun.Options{NoOffload: true}},
		"three-queues": {tun: tun.Options{Queues: 3}},
		"mtu-576":      {mtu: 576},
		"mtu-1280":     {mtu: 1280},
		"mtu-9000":     {mtu: 9000},
		"mtu-65535":    {mtu: 65535},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPairs(t, allPairs, p, func(t *testing.T, n *network) {
				for _, v6 := range []bool{false, true} {
					if v6 && p.mtu > 0 && p.mtu < 1280 {
						break // RFC 8200 §5: "IPv6 requires that every link in the Internet have an MTU of 1280 octets or greater."
					}
					a, b := n.connect(v6)
					n.exchange(t, a, b, fewer(1<<20))
				}
			})
		})
	}
}

// TestGigabyte sends 1 GiB between the kernel and our stack, to the one that listens over IPv4 and to the other over IPv6. A machine on which that would take long is spared it.
func TestGigabyte(t *testing.T) {
	if testing.Short() || raced {
		t.Skip("1 GiB is neither short nor to be watched octet by octet")
	}
	for _, who := range withKernel {
		t.Run(who.a+"-"+who.b, func(t *testing.T) {
			n := newNetwork(t, who, plan{fast: true})
			for _, v6 := range []bool{false, true} {
				from, to := n.connect(v6)
				if v6 {
					from, to = to, from
				}
				const some, all = 64 << 20, 1 << 30
				start := time.Now()
				n.transfer(t, from, to, some)
				if took := time.Since(start); took*(all/some) > 6*time.Second {
					t.Skipf("64 MiB took %v here", took)
				}
				start = time.Now()
				n.transfer(t, from, to, all)
				t.Logf("1 GiB in %v", time.Since(start))
			}
		})
	}
}

// TestViewsUsedAgain sends while packet views are reused (package bufpool). They are not reused while leak checks are on.
// So it runs in a process of its own that does not.
func TestViewsUsedAgain(t *testing.T) {
	if flag.Lookup("test.bench").Value.String() != "" {
		t.Skip("this is that process")
	}
	out, err := exec.Command(os.Args[0], "-test.run=^(TestSizes|TestLinks|TestHalfClose)$", "-test.bench=^$", "-test.v").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSizes")) {
		t.Errorf("%v\n%s", err, out)
	}
}
