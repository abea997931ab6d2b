// Package ledger records which bytes of a stream were sent how often, and what became of each
// transmission.
//
// Positions count bytes of one direction of a connection and never wrap; tcp.Seq.Unwrap finds them.
// SYN and FIN count as bytes.
//
// A Set holds ranges of positions, such as the bytes that have arrived. A Ledger holds the
// transmissions in their order, and by range the transmissions that carried
// it, each with its fate and the evidence for it.
//
// # Limitations
//
// A Ledger keeps all of its transmissions: for one of n segments that are not cut again, Send costs
// O(1) for new bytes and O(log n) for old ones. Cutting a range in the middle costs O(n).
//
// # Concurrency
//
// The types are not safe for concurrent use.
package ledger
