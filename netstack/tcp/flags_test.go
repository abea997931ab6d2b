package tcp

import "testing"

// TestFlagsString checks the notation of tcpdump.
func TestFlagsString(t *testing.T) {
	for _, tt := range []struct {
		f       Flags
		letters string
	}{
		{0, "none"},
		{SYN, "S"},
		{SYN | ACK, "S."},
		{PSH | ACK, "P."},
		{FIN | ACK, "F."},
		{RST, "R"},
		{ACK, "."},
		{SYN | ECE | CWR, "SEW"},
		{0xff, "FSRP.UEW"},
	} {
		if tt.f.String() != tt.letters {
			t.Errorf("%#x: String() = %q, want %q", uint8(tt.f), tt.f.String(), tt.letters)
		}
	}
	if f := SYN | ACK; !f.Has(SYN|ACK) || f.Has(SYN|RST) || !f.HasAny(SYN|RST) || f.HasAny(RST|FIN) {
		t.Errorf("Has or HasAny of %v is wrong", f)
	}
}
