package script

import "testing"

// TestICMPNumbers checks names against the numbers of the header.
func TestICMPNumbers(t *testing.T) {
	for _, test := range []struct {
		name, code string
		wantType   uint8
		wantCode   uint8
		wantOK     bool
	}{
		// RFC 792: destination unreachable is type 3, with code 4 for "fragmentation needed and DF set".
		{"unreachable", "", 3, 0, true},
		{"unreachable", "port_unreachable", 3, 3, true},
		{"unreachable", "frag_needed", 3, 4, true},
		// RFC 1122 §3.2.2.1 adds codes 6 to 12.
		{"unreachable", "net_unknown", 3, 6, true},
		{"unreachable", "host_unreachable_for_tos", 3, 12, true},
		{"source_quench", "", 4, 0, true},
		{"time_exceeded", "reassembly_time_exceeded", 11, 1, true},
		{"parameter_problem", "", 12, 0, true},
		{"parameter_problem", "frag_needed", 0, 0, false},
		{"echo_request", "", 0, 0, false},
	} {
		m := &ICMP{Type: test.name, Code: test.code}
		if typ, code, ok := m.Numbers(); typ != test.wantType || code != test.wantCode || ok != test.wantOK {
			t.Errorf("ICMP %s %s: Numbers() = %d, %d, %v, want %d, %d, %v",
				test.name, test.code, typ, code, ok, test.wantType, test.wantCode, test.wantOK)
		}
	}
}

// TestFlagsAreHeaderBits checks the flags against RFC 9293 §3.1: FIN is the lowest bit, CWR the
// highest.
func TestFlagsAreHeaderBits(t *testing.T) {
	for i, letter := range "FSRP.UEW" {
		if got := Flags(1 << i).String(); got != string(letter) {
			t.Errorf("Flags(%#x) = %s, want %c", 1<<i, got, letter)
		}
	}
	if got := Flags(0).String(); got != "-" {
		t.Errorf("Flags(0) = %s, want -", got)
	}
}
