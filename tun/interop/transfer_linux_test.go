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

// TestLinks sends over devices with other settings.
func TestLinks(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]plan{
		"no-offload": {tun: tun.Options{NoOffload: true}},
		"mtu-576":    {mtu: 576},
		"mtu-1280":   {mtu: 1280},
		"mtu-9000":   {mtu: 9000},
		"mtu-65535":  {mtu: 65535},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPairs(t, allPairs, p, func(t *testing.T, n *network) {
				for _, v6 := range []bool{false, true} {
					if v6 && p.mtu > 0 && p.mtu < 1280 {
						// RFC 8200 §5: "IPv6 requires that every link in the Internet have an MTU of
						// 1280 bytes or greater."
						break
					}
					a, b := n.connect(v6)
					n.exchange(t, a, b, fewer(1<<20))
				}
			})
		})
	}
}

// TestGigabyte sends 1 GiB between the kernel and our stack: to the listener over IPv4, from it
// over IPv6. It skips on a slow machine.
func TestGigabyte(t *testing.T) {
	if !isLong() {
		t.Skip("long: set TCPWHEEL_LONG=1")
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

// TestViewsUsedAgain sends while package bufpool reuses packet views. Leak checks switch reuse off,
// so the test runs in another process without them.
func TestViewsUsedAgain(t *testing.T) {
	if flag.Lookup("test.bench").Value.String() != "" {
		t.Skip("this is the other process")
	}
	out, err := exec.Command(os.Args[0], "-test.run=^(TestSizes|TestLinks|TestHalfClose)$", "-test.bench=^$", "-test.v").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSizes")) {
		t.Errorf("%v\n%s", err, out)
	}
}
