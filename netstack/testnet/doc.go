// Package testnet tests programs under loss. A test makes hosts with TCP and paths between them,
// and runs the program on them unmodified: net/http, gRPC, a database driver. In a bubble of
// testing/synctest, hours of timeouts and retries take a second.
//
// # Usage
//
//	func TestWorstMinute(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			net := testnet.New(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "2%"})
//			go http.Serve(net.Listen(":80"), handler)
//			client := net.HTTPClient()
//			client.Timeout = time.Second
//			r, err := client.Get("http://server/page")
//			if err != nil {
//				t.Fatal(err, net.Counts())
//			}
//			r.Body.Close()
//		})
//	}
//
// Programs with their own clients take Net.DialContext or Net.Dial. HostConfig adds hosts with
// names and paths of their own, or sets the timer policy of one. SetPath changes a path during the
// test. Counts says what the path lost and what repaired it:
//
//	if n := net.Counts().Timeouts; n > 0 {
//		t.Errorf("requests waited for %d RTOs", n)
//	}
//
// EachLoss runs a test once for each packet, with that packet lost, and reports which losses make
// it fail. A Search lets other things happen to packets, or compares timer policies.
//
// A test that fails leaves a capture of each host, CLIENT.pcapng and so on: next to the test, or
// with go test -artifacts in the test's ArtifactDir. Comments in it name the timers that sent a
// packet, and say which path lost it.
//
// docs/testing-programs.md has more, and the stories of the tests in this package.
//
// # Time
//
// Inside a bubble time is virtual: it moves when every goroutine of the bubble waits. Outside it is
// the machine's.
//
// # Determinism
//
// In a bubble, everything random comes from the Seed: losses, jitter, ports, sequence numbers.
// Packets and timers of the network happen one at a time. Before the next one, all goroutines that
// the last one woke have come to rest. Packets of one instant enter their paths in the order of
// their connections, whichever goroutine sent first. So a program with one goroutine at work at any
// instant makes equal runs, to the nanosecond. What remains is the program's: goroutines that run
// at the same instant, select, maps, its own random numbers. A dial takes the next random port, so
// dials of one instant may swap theirs. TestSpread measures it.
//
// # Limitations
//
// A bubble sees neither the kernel's sockets, pipes and processes, nor goroutines that wait for a
// sync.Mutex: while one does, time stands still. If the holder of the Mutex waits for the network,
// that is for ever; the package then says so on standard error after ten seconds of real time. Run
// such programs outside. gVisor's TCP works only outside.
//
// Hosts have an IPv4 and an IPv6 address, TCP and UDP. Connections are of type *sockets.Conn, not
// *net.TCPConn; UDP sockets are gVisor's, and their errors name no syscall.Errno.
//
// # Concurrency
//
// Multiple goroutines may invoke the methods of all types. A Net belongs to the bubble that it was
// made in.
package testnet
