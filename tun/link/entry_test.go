package link

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"tcpwheel/netstack/sim"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A segment of 4 bytes with a timestamp and a SACK block; a fragment; UDP after a hop-by-hop
// header; half a header.
const (
	entrySegment = "45000048000140004006000" + "00a0900010a090002" + "0bb80050" + "00000064" + "000000c8" + "b0180200" + "00000000" +
		"0101080a0000000100000002" + "0101050a00000190000001f4" + "0102030405060708"
	entryFragment = "450000180001200040060000" + "0a0900010a090002" + "0bb80050"
	entryUDP      = "6000000000101140" + "fd090000000000000000000000000001" + "fd090000000000000000000000000002"
)

func TestEntry(t *testing.T) {
	v6 := unhex(t, "60000000"+"0010"+"0040"+"fd090000000000000000000000000001"+"fd090000000000000000000000000002"+"1100000000000000"+"0bb8003500080000")
	for _, test := range []struct {
		b    []byte
		want string
	}{
		{unhex(t, entrySegment), `{"record":"packet","direction":"b-to-a","n":7,"sent_s":0.000000009,"size":72,"fate":"","protocol":"tcp",` +
			`"src":"10.9.0.1:3000","dst":"10.9.0.2:80","tcp":{"flags":"P.","seq":100,"ack":200,"len":8,"window":512,"tsval":1,"tsecr":2,` +
			`"sack":[[400,500]],"attempt":3,"start":1,"end":9}}`},
		{unhex(t, entryFragment), `{"record":"packet","direction":"b-to-a","n":7,"sent_s":0.000000009,"size":24,"fate":"","protocol":"fragment","src":"10.9.0.1","dst":"10.9.0.2"}`},
		{v6, `{"record":"packet","direction":"b-to-a","n":7,"sent_s":0.000000009,"size":56,"fate":"","protocol":"udp","src":"[fd09::1]:3000","dst":"[fd09::2]:53"}`},
		{unhex(t, entryUDP), `{"record":"packet","direction":"b-to-a","n":7,"sent_s":0.000000009,"size":40,"fate":"","protocol":"udp","src":"fd09::1","dst":"fd09::2"}`},
		{[]byte{0x45, 1}, `{"record":"packet","direction":"b-to-a","n":7,"sent_s":0.000000009,"size":2,"fate":""}`},
	} {
		got, err := json.Marshal(newEntry(1, 7, 9, test.b, &sim.Packet{Attempt: 3, Start: 1, End: 9}))
		if err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

// FuzzEntry: no packet makes it panic.
func FuzzEntry(f *testing.F) {
	for _, s := range []string{entrySegment, entryFragment, entryUDP, ""} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e := newEntry(0, 1, 0, b, &sim.Packet{})
		if e.Size != uint32(len(b)) || e.TCP != nil && e.TCP.Len > e.Size {
			t.Errorf("%+v of %x", e, b)
		}
	})
}
