// Package underloss tests clients and servers written elsewhere over paths with losses, in
// package testnet: net/http with HTTP/2, grpc-go and x/crypto/ssh. docs/testing-programs.md lists
// what works in a bubble.
package underloss
