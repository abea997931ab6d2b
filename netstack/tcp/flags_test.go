package tcp

import "testing"

// TestFlagsString checks the notations of tcpdump and of RFC 9293 §3.5.
func TestFlagsString(t *testing.T) {
	for _, tt := range []struct {
		f             Flags
		letters, name string
	}{
		{0, "none", ""},
		{SYN, "S", "SYN"},
		{SYN | ACK, "S.", "SYN,ACK"},
		{PSH | ACK, "P.", "PSH,ACK"},
		{FIN | ACK, "F.", "FIN,ACK"},
		{RST, "R", "RST"},
		{ACK, ".", "ACK"},
		{SYN | ECE | CWR, "SEW", "SYN,ECE,CWR"},
		{0xff, "FSRP.UEW", "FIN,SYN,RST,PSH,ACK,URG,ECE,CWR"},
	} {
		if tt.f.String() != tt.letters || tt.f.Names() != tt.name {
			t.Errorf("%#x: String, Names = %q, %q, want %q, %q", uint8(tt.f), tt.f.String(), tt.f.Names(), tt.letters, tt.name)
		}
	}
	if f := SYN | ACK; !f.Has(SYN|ACK) || f.Has(SYN|RST) || !f.HasAny(SYN|RST) || f.HasAny(RST|FIN) {
		t.Errorf("Has or HasAny of %v is wrong", f)
	}
}
