package tcp

import (
	"encoding/binary"
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

// Secret is the key of everything that a host must be able to compute and nobody else to guess:
// initial sequence numbers, offsets of timestamps, and SYN cookies. It comes from a source of
// randomness and stays the same while the host runs. A copy is the same secret, and its methods are
// pure functions of their arguments.
type Secret struct {
	k0, k1 uint64
}

// NewSecret returns the secret with this key.
func NewSecret(key [16]byte) Secret {
	return Secret{binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])}
}

// purpose separates the uses of a secret: what is learnt from one is no help with another.
type purpose uint8

const (
	forISN purpose = iota + 1
	forTimestamps
	forCookieBase
	forCookieMAC
)

// hash is the keyed hash of a connection's ends and a number, for one purpose. IPv4 and IPv4 mapped
// into IPv6 are one.
func (s *Secret) hash(why purpose, local, remote netip.AddrPort, n uint64) uint64 {
	var b [45]byte
	l, r := local.Addr().As16(), remote.Addr().As16()
	copy(b[0:], l[:])
	copy(b[16:], r[:])
	binary.LittleEndian.PutUint16(b[32:], local.Port())
	binary.LittleEndian.PutUint16(b[34:], remote.Port())
	binary.LittleEndian.PutUint64(b[36:], n)
	b[44] = byte(why)
	return sipHash24(s.k0, s.k1, b[:])
}

// isnTick is the period of the clock that initial sequence numbers follow.
//
// DEVIATION RFC 9293 §3.4.1 (MUST-8): a clock of roughly 4 µs, which is what it asks for, falls
// behind the sequence numbers of any connection faster than 250 kB/s. A port whose connection the
// peer has closed, and that is taken again at once, would begin below what the peer, in TIME-WAIT,
// has seen, and its SYNs be dropped for as long as that lasts. Linux's clock, of 64 ns, is ahead of
// 15.6 MB/s, and needs 275 s to come round, longer than two maximum segment lifetimes.
const isnTick = 64 * time.Nanosecond

// ISN returns the initial sequence number of a connection that is opened now from local to remote.
// For one pair of ends the numbers grow by one every 64 ns, so that an incarnation begins after
// what the one before it sent below 15.6 MB/s; those of different pairs are unrelated for whoever
// has not the secret. It panics on an address that is not valid.
func (s *Secret) ISN(now wheel.Time, local, remote netip.AddrPort) Seq {
	// RFC 9293 §3.4.1: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)"
	m := ticks(now, isnTick)
	return Seq(uint32(m) + uint32(s.hash(forISN, local, remote, 0)))
}

// TimestampOffset returns what is added to the clock of timestamps for the connection from local to
// remote. It is the same for each incarnation, so that their timestamps grow from one to the next
// (RFC 6191 §2), and tells nothing about the host's uptime or its other connections.
func (s *Secret) TimestampOffset(local, remote netip.AddrPort) uint32 {
	// RFC 7323 §5.4: "The same function with a different secret key can be used to generate the
	// per-connection timestamp offset." The purpose makes the key different.
	return uint32(s.hash(forTimestamps, local, remote, 0))
}

// ticks returns how many whole spans lie between the epoch and now, rounded down before the epoch
// too, so that the count goes evenly through it.
func ticks(now wheel.Time, span time.Duration) int64 {
	n := int64(now) / int64(span)
	if int64(now)%int64(span) < 0 {
		n--
	}
	return n
}
