package lanes

// Viewer is how far a page has seen the packets and expiries of lanes.
type Viewer struct {
	seen     []cursor
	restarts int
}

// cursor is how far a viewer has seen the lists of a lane.
type cursor struct{ packets, expiries uint64 }

// Next returns the frame as the viewer's next one.
func (v *Viewer) Next(frame *Frame) *Frame {
	f := *frame
	if f.Restarts != v.restarts || len(v.seen) != len(f.Lanes) {
		v.seen, v.restarts = make([]cursor, len(f.Lanes)), f.Restarts
	}
	f.Lanes = append([]LaneView(nil), f.Lanes...)
	for i := range f.Lanes {
		l, c := &f.Lanes[i], &v.seen[i]
		l.Packets = since(l.transmitted, &c.packets)
		fresh := min(l.expiries-c.expiries, uint64(len(l.expired)))
		l.Expired, c.expiries = l.expired[uint64(len(l.expired))-fresh:], l.expiries
	}
	return &f
}
