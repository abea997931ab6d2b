// Package testnet tests programs under loss: hosts with TCP, and paths between them that delay and
// lose packets, in a test.
package testnet
