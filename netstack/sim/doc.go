// Package sim is the virtual network's room. So far it has the model of a link: rate, queue, delay, jitter, loss,
// reordering, duplication and corruption.
//
// A Link is one direction. It knows no clock and no network: Send(now, packet) decides at once what becomes of the packet,
// so that the same model also runs where now is the time of day.
//
// # Determinism
//
// Same plan, same bytes. All randomness is drawn from counters: the draw for the n-th packet of a link depends on the
// seed, the name of the link, the purpose and n, and on nothing else. So a change in one place leaves the luck of all
// others as it was (common random numbers). No floating-point result enters an instant or a draw, probabilities apart,
// which are compared exactly.
//
// # Cost
//
// Send costs O(1) and does not allocate, whatever the length of the queue: the queue is kept as the instants at which its
// packets leave, and no event is needed for that.
//
// # Concurrency
//
// Nothing here is safe for concurrent use.
package sim
