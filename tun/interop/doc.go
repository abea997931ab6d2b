// Package interop holds the tests in which this house's TCP talks to others and to itself: the kernel's over a TUN device, gVisor's
// in the same process. There is nothing in it to import.
//
// Each test runs over every pair of TCPs that it makes sense for, either side opening the connection, by one harness: a network of
// two hosts, with a middlebox between them that drops what it is told to and knows a path MTU, and an emulated link. All have the
// invariants of the connections checked after each pass (netstack.Config.CheckInvariants), and TestMain looks for goroutines and packet
// buffers that are left. The pairs with a kernel need root, and are skipped with a reason without it.
//
// TestSoak runs mixed traffic for as long as it is told, with every policy and pair from a minute on:
//
//	go test ./tun/interop -run TestSoak -v -soak 5m -soak-seed 2
package interop
