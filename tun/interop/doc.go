// Package interop tests this module's TCP against others and itself: the kernel's over a TUN
// device, gVisor's in the same process. It exports nothing.
//
// Each test runs over every suitable pair of TCPs, with either side opening the connection, on one
// harness: a network of two hosts, with an emulated link and a middlebox between them. The
// middlebox drops packets on request and has a path MTU. After each step, the invariants of our
// connections are checked (netstack.Config.CheckInvariants). TestMain looks for leaked goroutines
// and packet buffers. Pairs with a kernel need root, and skip with a reason without it.
//
// TestSoak runs mixed traffic for as long as -soak says. From one minute on, it covers every policy
// and pair:
//
//	go test ./tun/interop -run TestSoak -v -soak 5m -soak-seed 2
package interop
