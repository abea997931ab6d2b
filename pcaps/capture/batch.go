package capture

// packetBatch is a number of segments that are decoded at once. The code of the decoder and that of
// a tracker do not fit the processor's cache of instructions together.
type packetBatch struct {
	packets [batchLen]Packet
	held    int               // index of a segment behind the errors in errors; 0 if there is none
	errors  []ICMPError       // read since the last segment returned
	call    func(e ICMPError) // OnICMPError's function
}

const batchLen = 64

// NextBatch returns the next segments, valid until the next call: at least one, and as many more as
// are in memory, up to most, and at most 64. Next would return the same ones in the same order.
// There are none with an error. OnICMPError, if at all, must be called before. Its function is
// called in file order: segments behind an ICMP error are in another batch than those before it.
// Frame and Comments may be those of another segment.
func (r *Reader) NextBatch(most int) ([]Packet, error) {
	if r.batch == nil {
		r.batch = &packetBatch{call: r.d.icmpError}
		if r.d.icmpError != nil {
			r.d.icmpError = r.batch.hold
		}
	}
	b := r.batch
	n, most := b.release(), min(most, batchLen)
	defer func() { r.in.hold = false }()
	// After a fragment, the next segment may use the memory of its payload.
	for n == 0 || n < most && !b.packets[n-1].Problems.Has(Fragment) {
		r.d.p, r.in.hold = &b.packets[n], n > 0
		ok, err := r.step()
		if err != nil && n > 0 {
			break // the next call returns it, or reads more
		}
		if len(b.errors) > 0 && n > 0 {
			if ok {
				b.held = n
			}
			break
		}
		if n == 0 {
			b.release()
		}
		if err != nil {
			return nil, err
		}
		if ok {
			n++
		}
	}
	return b.packets[:n], nil
}

// hold keeps an ICMP error until the segments before it were returned.
func (b *packetBatch) hold(e ICMPError) { b.errors = append(b.errors, e) }

// release passes on the errors that are held. It makes the segment behind them the first of the
// batch, and returns how many it has then.
func (b *packetBatch) release() (n int) {
	for _, e := range b.errors {
		b.call(e)
	}
	b.errors = b.errors[:0]
	if b.held > 0 {
		b.packets[0], b.held = b.packets[b.held], 0
		n = 1
	}
	return n
}
