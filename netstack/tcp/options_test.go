package tcp

import (
	"testing"
	"time"
)

// segmentWith returns a header with these options, padded with zeros to a word.
func segmentWith(options []byte) []byte {
	b := (&Header{SrcPort: 1, DstPort: 2, Flags: ACK}).AppendTo(nil)
	b = append(b, options...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	b[12] = byte(len(b)/4) << 4
	return b
}

// TestParseOptions parses unusual layouts and unknown options.
func TestParseOptions(t *testing.T) {
	for _, tt := range []struct {
		name, options string
		want          Options
	}{
		// RFC 9293 §3.1: "A TCP implementation MUST (MUST-6) ignore without error any TCP Option it
		// does not implement, assuming that the option has a length field."
		{"unknown kinds, a Fast Open cookie among them", "2206 01020304 fd02 020405b4", Options{HasMSS: true, MSS: 1460}},
		// RFC 9293 §3.2: options may begin on any byte (MUST-64).
		{"unaligned", "01 020405b4 030302 0402 080a0000000900000008", Options{HasMSS: true, MSS: 1460, HasWScale: true,
			WScale: 2, SACKPermitted: true, HasTimestamps: true, TSVal: 9, TSEcr: 8}},
		{"nothing counts behind the end of the list", "00 020405b4", Options{}},
		{"the later of two counts", "020405b4 02040218", Options{HasMSS: true, MSS: 536}},
		// RFC 7323 §2.3: a shift count above 14 counts as 14.
		{"shift count", "030320", Options{HasWScale: true, WScale: 14}},
		{"user timeout of nothing", "1c048000", Options{}},
		// RFC 2018 §2: SACK-permitted has no data.
		{"SACK-permitted", "0402", Options{SACKPermitted: true}},
		{"four blocks", "0522 0000000100000002 0000000300000004 0000000500000006 0000000700000008",
			Options{NumSACK: 4, SACK: [4]SeqRange{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}},
	} {
		h, _, err := ParseHeader(segmentWith(unhex(t, tt.options)))
		if err != nil || h.Options != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, h.Options, err, tt.want)
		}
	}
}

// TestSACKBlocksThatDoNotFit checks that surplus blocks are cut, and that sackRoom returns the
// room.
func TestSACKBlocksThatDoNotFit(t *testing.T) {
	four := Options{NumSACK: 4, SACK: [4]SeqRange{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}
	for _, tt := range []struct {
		other Options
		fit   int
	}{
		{Options{}, 4},
		// RFC 2018 §3: next to timestamps there is room for 3 blocks.
		{Options{HasTimestamps: true}, 3},
		{Options{HasTimestamps: true, HasUserTimeout: true}, 2},
		{Options{HasTimestamps: true, HasUserTimeout: true, HasMSS: true, HasWScale: true, SACKPermitted: true}, 1},
	} {
		o := tt.other
		o.NumSACK, o.SACK = four.NumSACK, four.SACK
		if got := o.sackRoom(); got != tt.fit {
			t.Errorf("Fit of %+v = %d, want %d", o, got, tt.fit)
		}
		h := Header{Options: o}
		back, _, err := ParseHeader(h.AppendTo(nil))
		if err != nil || int(back.Options.NumSACK) != tt.fit {
			t.Errorf("%+v: %d blocks were written, %v, want %d", o, back.Options.NumSACK, err, tt.fit)
		}
	}
}

// TestUserTimeoutRounding checks that a timeout on the wire is never shorter than requested.
func TestUserTimeoutRounding(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0:                                   time.Second,
		-time.Hour:                          time.Second,
		time.Nanosecond:                     time.Second,
		1500 * time.Millisecond:             2 * time.Second,
		32767 * time.Second:                 32767 * time.Second,
		32767*time.Second + time.Nanosecond: 547 * time.Minute,
		1 << 62:                             32767 * time.Minute,
	} {
		h := Header{Options: Options{HasUserTimeout: true, UserTimeout: d}}
		back, _, err := ParseHeader(h.AppendTo(nil))
		if err != nil || back.Options.UserTimeout != want {
			t.Errorf("user timeout of %v came back as %v, %v, want %v", d, back.Options.UserTimeout, err, want)
		}
	}
}
