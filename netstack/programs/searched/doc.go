// Package searched searches programs written elsewhere for the packets whose loss they notice, with
// testnet.EachLoss: net/http, HTTP/2, grpc-go, go-redis, nats.go, pgx and quic-go. Its stories are
// about peers that die. docs/testing-programs.md lists the findings.
package searched
