// Package underloss tests clients and servers written elsewhere over paths with losses, in
// package testnet: net/http with HTTP/2, grpc-go, nats.go with its server, go-redis with miniredis,
// and x/crypto/ssh. docs/testing-programs.md lists what works in a bubble.
package underloss
