package link

import (
	"encoding/binary"
	"os"
	"testing"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// readPacket is a packet read back from a capture.
type readPacket struct {
	at      wheel.Time
	size    uint32
	data    []byte
	comment string
	inbound bool
}

// readCapture reads what Pcapng writes: little-endian blocks, stamps in nanoseconds, comments and
// flags.
func readCapture(t *testing.T, name string) (packets []readPacket) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	u32 := binary.LittleEndian.Uint32
	for len(b) > 0 {
		if len(b) < 12 || u32(b[4:]) < 12 || int(u32(b[4:])) > len(b) || u32(b[u32(b[4:])-4:]) != u32(b[4:]) {
			t.Fatalf("%s: an incomplete block, %d bytes before the end", name, len(b))
		}
		block := b[8 : u32(b[4:])-4]
		kind := u32(b)
		b = b[u32(b[4:]):]
		if kind != 6 {
			continue
		}
		n := u32(block[12:])
		p := readPacket{at: wheel.Time(uint64(u32(block[4:]))<<32 | uint64(u32(block[8:]))), size: u32(block[16:]), data: block[20 : 20+n]}
		for options := block[20+(n+3)/4*4:]; len(options) > 4; {
			size := int(binary.LittleEndian.Uint16(options[2:]))
			switch value := options[4 : 4+size]; binary.LittleEndian.Uint16(options) {
			case 1:
				p.comment = string(value)
			case 2:
				p.inbound = u32(value)&3 == 1
			}
			options = options[4+(size+3)/4*4:]
		}
		packets = append(packets, p)
	}
	return packets
}

func TestComments(t *testing.T) {
	loss := sim.Losses{sim.PacketNumbers{1}, sim.PacketNumbers{3, 4}}
	for _, test := range []struct {
		fate          sim.Fate
		sent, arrived string
	}{
		{sim.Fate{}, "", ""},
		{sim.Fate{Outcome: sim.QueueDropped}, "dropped: the queue is full", ""},
		{sim.Fate{Outcome: sim.Lost, Model: 1}, "lost: packets:3-4", ""},
		{sim.Fate{Marked: true, Duplicated: true}, "marked CE, duplicated", "marked CE, duplicate"},
		{sim.Fate{Reordered: true, Corrupt: true, Bit: 9}, "reordered, corrupted", "reordered, bit 9 flipped"},
	} {
		if got := sentComment(&test.fate, loss); got != test.sent {
			t.Errorf("%+v: %q, want %q", test.fate, got, test.sent)
		}
		if test.fate.Outcome != sim.Delivered {
			continue
		}
		if got := arrivedComment(&test.fate, test.fate.Duplicated); got != test.arrived {
			t.Errorf("%+v arrives: %q, want %q", test.fate, got, test.arrived)
		}
	}
}
