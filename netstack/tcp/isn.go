package tcp

import (
	"encoding/binary"
	"net/netip"
	"time"

	"tcpwheel/wheel"
)

// Secret is the key of everything that a host must compute and others must not guess: initial
// sequence numbers, timestamp offsets and SYN cookies. It must be random and stay the same while
// the host runs. A copy is the same secret. Methods are pure functions.
type Secret struct {
	k0, k1 uint64
}

// NewSecret returns the Secret of a key.
func NewSecret(key [16]byte) Secret {
	return Secret{binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])}
}

// purpose separates the uses of a secret, so that one reveals nothing about another.
type purpose uint8

const (
	forISN purpose = iota + 1
	forTimestamps
	forCookieBase
	forCookieMAC
)

// hash returns a keyed hash of the connection and n for one purpose. IPv4 and IPv4-mapped IPv6
// addresses are equal.
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

// isnTick is the period of the clock behind initial sequence numbers.
//
// DEVIATION RFC 9293 §3.4.1 (MUST-8): the RFC asks for about 4 µs. Connections faster than 250 kB/s
// overtake such a clock. A port reused at once would then begin below what its peer in TIME-WAIT
// has seen, and its SYNs would be dropped. Linux's 64 ns keep ahead of 15.6 MB/s and wrap in 275 s,
// longer than two maximum segment lifetimes.
const isnTick = 64 * time.Nanosecond

// ISN returns the initial sequence number of a connection opened at now from local to remote. For
// the same two ends it grows by one every 64 ns; for others it is unrelated. It panics on an
// invalid address.
func (s *Secret) ISN(now wheel.Time, local, remote netip.AddrPort) Seq {
	// RFC 9293 §3.4.1: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)"
	m := ticks(now, isnTick)
	return Seq(uint32(m) + uint32(s.hash(forISN, local, remote, 0)))
}

// TimestampOffset returns the offset of the timestamp clock for the connection from local to
// remote. It is the same for each incarnation, so that timestamps grow from one to the next
// (RFC 6191 §2). It reveals neither the uptime nor other connections.
func (s *Secret) TimestampOffset(local, remote netip.AddrPort) uint32 {
	// RFC 7323 §5.4: "The same function with a different secret key can be used to generate the
	// per-connection timestamp offset." Here the purpose changes the key.
	return uint32(s.hash(forTimestamps, local, remote, 0))
}

// ticks returns the number of whole spans from the epoch to now, rounded down, also before the
// epoch.
func ticks(now wheel.Time, span time.Duration) int64 {
	n := int64(now) / int64(span)
	if int64(now)%int64(span) < 0 {
		n--
	}
	return n
}
