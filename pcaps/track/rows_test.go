package track_test

import (
	"cmp"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// publicFile is what a public capture shows.
type publicFile struct {
	conns    []*track.Conn
	episodes map[int64]*track.Episode // by the packet of any retransmission
	losses   track.Losses
	results  []*replay.Result // under the policies of readRow
	sums     []replay.Summary
}

// rowPolicies are what captures are replayed under.
var rowPolicies = []string{"captured", "bsd", "per-segment@1ms", "datacenter"}

// readPublic reads the capture whose name begins with set and id, and replays it under rowPolicies.
func readPublic(t *testing.T, set, id string) *publicFile {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join("../../../shared/captures", set, id+"-*"))
	if len(names) != 1 {
		t.Skipf("no public capture %s", id)
	}
	r, err := capture.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := &publicFile{episodes: map[int64]*track.Episode{}}
	st := &replay.Study{}
	for _, text := range rowPolicies {
		c, err := replay.ParseChoice(text)
		if err != nil {
			t.Fatal(err)
		}
		st.Choices = append(st.Choices, c)
	}
	rec := replay.NewRecorder(replay.Config{Done: func(c *track.Conn, s *replay.CapturedConn, _ error) {
		f.conns = append(f.conns, c)
		f.losses.AddConn(c)
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				f.losses.Add(e)
				for _, rx := range e.Retransmissions {
					f.episodes[rx.Packet] = e
				}
			}
		}
		if lost, _ := c.TimeLost(); lost > c.Last.Sub(c.First) {
			t.Errorf("connection %d lost %v of %v", c.ID, lost, c.Last.Sub(c.First))
		}
		if s == nil {
			return
		}
		x, err := st.Run(id, c, s)
		if err != nil {
			t.Errorf("connection %d: %v", c.ID, err)
			return
		}
		f.results = append(f.results, x)
	}})
	r.OnICMPError(rec.ICMP)
	for {
		p, err := r.Next()
		if err != nil {
			break
		}
		rec.Add(p)
	}
	rec.Close()
	f.sums = st.Summarize(f.results)
	return f
}

// replayed returns the loss whose first retransmission is a packet.
func (f *publicFile) replayed(packet int64) (r *replay.Result, n int) {
	for r, i := range replay.Losses(f.results) {
		if r.Captured.Losses[i].DetectedPacket == packet {
			return r, i
		}
	}
	return nil, 0
}

// row is what is true of a capture: what was read packet by packet. Its zero value is no loss.
type row struct {
	episodes    int // anyNumber: not checked, as below
	lost        time.Duration
	unmeasured  int
	never       int // connections never established
	neverRepair int

	kinds    map[int64]track.Kind // of the episodes of packets
	needed   []int64
	spurious []int64
	doubtful []int64                  // needed, or not: their ACKs may have been delayed
	no       []int64                  // packets that retransmit nothing
	verdicts map[string]replay.Effect // that save or cost, of rowPolicies
	check    func(t *testing.T, f *publicFile)
}

const anyNumber = -1

// bsdCosts are verdicts that a capture holds: 4.4BSD's timers would have cost more.
var bsdCosts = map[string]replay.Effect{"bsd": replay.Costs}

// readmeIDs returns the captures that the rows of a set's README are about.
func readmeIDs(t *testing.T, set string) (ids []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../shared/captures", set, "README.md"))
	if err != nil {
		t.Skipf("no public captures: %v", err)
	}
	id := regexp.MustCompile(`\b[fhtm]\d\d\b`)
	for line := range strings.Lines(string(text)) {
		cell, ok := strings.CutPrefix(line, "| ")
		cell, _, _ = strings.Cut(cell, "|")
		if found := id.FindAllString(cell, -1); ok && len(found) == 2 && strings.Contains(cell, " to ") {
			for n := found[0]; n <= found[1]; n = string([]byte{n[0], n[1], n[2] + 1}) {
				ids = append(ids, n)
			}
		} else if ok {
			ids = append(ids, found...)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestRows checks each row of the READMEs of the sets: what earlier versions had wrong.
func TestRows(t *testing.T) {
	for set, rows := range map[string]map[string]row{"second": secondRows, "third": thirdRows, "fourth": fourthRows} {
		if ids := readmeIDs(t, set); !slices.Equal(ids, slices.Sorted(maps.Keys(rows))) {
			t.Errorf("%s: README has rows for %v, the test for %v", set, ids, slices.Sorted(maps.Keys(rows)))
		}
		for id, r := range rows {
			t.Run(id, func(t *testing.T) { r.compare(t, readPublic(t, set, id)) })
		}
	}
}

func (r *row) compare(t *testing.T, f *publicFile) {
	l := &f.losses
	unmeasured := 0
	for _, n := range l.Unmeasured {
		unmeasured += n
	}
	for _, x := range []struct {
		what      string
		got, want int
	}{
		{"episodes", l.Episodes, r.episodes}, {"ms lost", int(l.TimeLost.Milliseconds()), int(r.lost.Milliseconds())},
		{"unmeasured", unmeasured, r.unmeasured}, {"never established", l.NeverEstablished(), r.never},
		{"never repaired", l.NeverRepaired, r.neverRepair},
	} {
		if x.got != x.want && x.want != anyNumber && !(x.what == "ms lost" && r.lost == anyNumber) {
			t.Errorf("%d %s, want %d", x.got, x.what, x.want)
		}
	}
	for packet, kind := range r.kinds {
		if e := f.episodes[packet]; e == nil || e.Kind != kind {
			t.Errorf("packet %d: %+v, want kind %v", packet, e, kind)
		}
	}
	for _, packet := range r.needed {
		if e := f.episodes[packet]; e == nil || e.Spurious != track.Necessary {
			t.Errorf("packet %d was needed: %+v", packet, e)
		}
	}
	for _, packet := range r.spurious {
		if e := f.episodes[packet]; e == nil || e.Spurious != track.Spurious {
			t.Errorf("packet %d was not needed: %+v", packet, e)
		}
	}
	for _, packet := range r.doubtful {
		if e := f.episodes[packet]; e == nil || !e.Doubtful || e.TimeLost != 0 {
			t.Errorf("packet %d may have been delayed: %+v", packet, e)
		}
	}
	for _, packet := range r.no {
		if e := f.episodes[packet]; e != nil {
			t.Errorf("packet %d is no retransmission: %+v", packet, e)
		}
	}
	for _, s := range f.sums {
		want, decided := r.verdicts[s.Policy]
		if decided && s.Effect != want || !decided && (s.Effect == replay.Saves || s.Effect == replay.Costs) {
			t.Errorf("%s %v (%v, %v to %v), want %v", s.Policy, s.Effect, s.Saved, s.Low, s.High, cmp.Or(want, replay.CannotTell))
		}
	}
	if r.check != nil {
		r.check(t, f)
	}
}

// thirdRows are the rows of captures/third/README.md.
var thirdRows = map[string]row{
	"t01": {episodes: 5, unmeasured: 5, check: func(t *testing.T, f *publicFile) {
		for _, packet := range []int64{91, 1126, 1221, 1252, 1467} {
			if x := f.episodes[packet]; x == nil || x.Gap != track.EchoGap || x.Repaired || x.Spurious != track.Undecided {
				t.Errorf("packet %d: %+v, want no T_rec and no verdict", packet, x)
			}
		}
	}},
	"t02": {no: []int64{194, 195, 196}},
	"t03": {},
	"t04": {episodes: 2},
	"t05": {episodes: anyNumber, neverRepair: anyNumber},
	"t06": {episodes: 1, lost: 823 * time.Millisecond, check: func(t *testing.T, f *publicFile) {
		if x := f.episodes[27]; x.Kind != track.PMTU || x.Timeouts != 0 || x.TimerWait != 0 {
			t.Errorf("packet 27: %v with %d timeouts, %v waiting", x.Kind, x.Timeouts, x.TimerWait)
		}
	}},
	// 48, the timeout, begins with the first missing one.
	"t07": {episodes: 1, lost: anyNumber, needed: []int64{46}, kinds: map[int64]track.Kind{46: track.TLP}},
	"t08": {never: 154, check: checkUnreachable},
	"t09": {never: 59},
	"t10": {never: 238},
	"t11": {never: 136},
	// A DSACK reports only a part of 3221.
	"t12": {episodes: anyNumber, lost: anyNumber, never: 40, needed: []int64{3221}},
	"t13": {episodes: anyNumber, lost: anyNumber},
	"t14": {episodes: anyNumber, never: 2},
	"t15": {never: 1},
	"t16": {episodes: 10},
	"t17": {episodes: 1, kinds: map[int64]track.Kind{1178: track.TLP}},
	"t18": {episodes: 1, lost: anyNumber, kinds: map[int64]track.Kind{1611: track.Fast}},
	"t19": {no: []int64{4}},
	"t20": {no: []int64{2125}},
	"t21": {episodes: 1, no: []int64{1051}}, // 1379, a FIN, was not needed
	// 330 answers 329.
	"t22": {episodes: anyNumber, lost: anyNumber, unmeasured: anyNumber, neverRepair: anyNumber, kinds: map[int64]track.Kind{330: track.Unknown}},
	"t23": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, needed: []int64{1600, 1836}},
	"t24": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t25": {episodes: anyNumber, lost: anyNumber, never: anyNumber, neverRepair: anyNumber, needed: []int64{4, 70, 503, 1371, 1459, 1765},
		// So says t26 of the other end, by each key, though its control is too far off for a verdict.
		verdicts: map[string]replay.Effect{"per-segment@1ms": replay.Saves, "datacenter": replay.Saves}},
	"t26": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t27": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber, verdicts: bsdCosts},
	"t28": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t29": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t30": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t31": {never: 2},
	"t32": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
	"t33": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber},
}

// fourthRows are the rows of captures/fourth/README.md.
var fourthRows = map[string]row{
	// 2992 is the last of three segments, and the ACK of the others came before it.
	"f01": {episodes: 96, lost: 504 * time.Millisecond, never: 20, neverRepair: 1, needed: []int64{2945, 4414, 4424}, doubtful: []int64{2984, 2992, 4347, 4665}},
	"f02": {episodes: 58, lost: 0, never: 42, doubtful: []int64{59, 86, 97, 128}},
	"f03": {episodes: 8, lost: 0, doubtful: []int64{228, 311, 457}},
	"f04": {episodes: 4, lost: 0, never: anyNumber, doubtful: []int64{93}},
	// Five SACKs asked for 42 a round trip before. 1159 is repeated until a RST.
	"f05": {episodes: 2, lost: 74 * time.Millisecond, never: 3, neverRepair: 1, kinds: map[int64]track.Kind{42: track.Fast}, check: func(t *testing.T, f *publicFile) {
		if text := strings.Join(f.losses.Sentences(), " "); !strings.Contains(text, "none of it waiting for timers. The longest stall took 74.4 ms, from packet 42 (at 0.487 s, connection 0): a loss that ACKs showed") {
			t.Error(text)
		}
	}},
	"f06": {no: []int64{36, 42, 86, 103, 137}, check: func(t *testing.T, f *publicFile) {
		if text := strings.Join(f.losses.Sentences(), " "); f.losses.Unordered != 2 || !strings.Contains(text, "The capture is not in order") {
			t.Errorf("%d connections are not in order: %s", f.losses.Unordered, text)
		}
	}},
	// By the sender's timestamps; 11287 belongs to a connection whose clock its few packets do not show.
	"f07": {episodes: 109, lost: anyNumber, kinds: map[int64]track.Kind{3695: track.RTO, 3709: track.RTO, 14390: track.RTO, 15047: track.RTO}, check: func(t *testing.T, f *publicFile) {
		for packet, ms := range map[int64]time.Duration{3695: 45, 3709: 45, 14390: 130, 15047: 45} {
			if d := f.episodes[packet].D; (d - ms*time.Millisecond).Abs() > 2*time.Millisecond {
				t.Errorf("packet %d: D %v, want %d ms", packet, d, ms)
			}
		}
	}},
	"f08": {episodes: anyNumber, lost: anyNumber, kinds: map[int64]track.Kind{415: track.RTO, 575: track.RTO, 585: track.RTO, 737: track.RTO}},
	"f09": {episodes: anyNumber, lost: anyNumber, never: anyNumber, unmeasured: anyNumber, neverRepair: anyNumber, kinds: waitedASecond, check: func(t *testing.T, f *publicFile) {
		if e := f.episodes[4450]; e.RTT != 0 || e.TimerTax != 0 {
			t.Errorf("packet 4450: RTT %v and tax %v, want none: the way to the sender is not known", e.RTT, e.TimerTax)
		}
		checkYears(t, f)
	}},
	"f10": {episodes: anyNumber, lost: anyNumber, never: anyNumber, unmeasured: anyNumber, neverRepair: anyNumber, kinds: waitedASecond, check: checkYears},
	"f11": {no: []int64{1332}},
	"f12": {episodes: 1, never: 10, neverRepair: 1, check: func(t *testing.T, f *publicFile) {
		if text := strings.Join(f.losses.Sentences(), " "); !strings.Contains(text, "servers of 8 connections never saw the clients' data: SYN-ACKs were repeated 24 times, and 8 clients gave up with a RST") {
			t.Error(text)
		}
	}},
	"f13": {episodes: anyNumber, lost: anyNumber, never: anyNumber, spurious: []int64{444, 669}},
}

// checkYears: the file was merged of captures of several years. Times count from the connection.
func checkYears(t *testing.T, f *publicFile) {
	if text := strings.Join(f.losses.Sentences(), " "); !strings.Contains(text, "from packet 4450 (at 20.550 s, connection 124)") {
		t.Error(text)
	}
}

// waitedASecond: the last ACK came more than a second before, on a path of 0.2 s.
var waitedASecond = map[int64]track.Kind{3908: track.RTO, 4036: track.RTO}

// secondRows are the rows of captures/second/README.md.
var secondRows = map[string]row{
	"h24": {episodes: anyNumber, lost: 626 * time.Millisecond, check: checkStall(189, 600*time.Millisecond)},
	"h20": {episodes: anyNumber, lost: 0, no: []int64{190}, neverRepair: anyNumber, verdicts: map[string]replay.Effect{"datacenter": replay.Costs}, check: func(t *testing.T, f *publicFile) {
		copies := int64(0)
		for _, c := range f.conns {
			copies += c.Copies
		}
		if copies < 43 {
			t.Errorf("%d copies, want 43 or more", copies)
		}
	}},
	"h29": {episodes: anyNumber, lost: anyNumber, kinds: map[int64]track.Kind{31: track.Fast}},
	"h25": {episodes: anyNumber, lost: anyNumber, never: 2, verdicts: bsdCosts, check: checkSolaris},
	"h13": {episodes: anyNumber, lost: anyNumber, neverRepair: anyNumber, unmeasured: anyNumber, never: anyNumber, check: func(t *testing.T, f *publicFile) {
		// Either it answers the original late, or the path was faster once.
		r, i := f.replayed(1978)
		if r == nil || r.Gates[i] == replay.Passed {
			t.Error("packet 1978 passes the gate")
		}
		if at := f.episodes[1594].Seen.Sub(f.conns[0].Origin).Seconds(); at < 77.39 || at > 77.40 {
			t.Errorf("packet 1594 at %.3f s, want 77.395 as in Wireshark", at)
		}
	}},
	"h07": {episodes: 4, lost: 11078 * time.Millisecond, check: checkStall(35, 7*time.Second)},
	"h18": {episodes: 3, lost: 11564 * time.Millisecond, neverRepair: 1, check: checkStall(15, 7*time.Second)},
	// ACK 251 had covered 254 and later ones before they left: its sender has not got it.
	"h14": {episodes: anyNumber, lost: anyNumber, spurious: []int64{254, 259, 262, 266, 268}, kinds: map[int64]track.Kind{254: track.RTO}},
	"h27": {},
	"m01": {no: []int64{402, 408, 1002, 1101, 2329}},
	// What remains is damage that no field proves: sequence numbers 128 and 2048 too low (packets 64
	// and 198), an identification (134), and a header length that makes options data (159). Its
	// checksums prove nothing, as the sender's were left to the interface.
	"h32": {episodes: 1, no: []int64{7, 53, 54}},
	"m03": {never: 3},
}

// checkStall: the episode of a packet lost at least that much, though its own bytes were repaired
// sooner.
func checkStall(packet int64, least time.Duration) func(*testing.T, *publicFile) {
	return func(t *testing.T, f *publicFile) {
		if e := f.episodes[packet]; e == nil || e.TimeLost < least {
			t.Errorf("packet %d: %+v, want a stall of %v", packet, e, least)
		}
	}
}

// checkSolaris: the 23 that were unknown are fast. Three fast retransmissions were acknowledged
// before they were captured, and the receiver answers each in its turn by a duplicate ACK (packets
// 1308, 1576 and 1930), as it does a duplicate. No other one is spurious.
func checkSolaris(t *testing.T, f *publicFile) {
	spurious := map[int64]bool{1299: true, 1567: true, 1923: true}
	for _, e := range f.episodes {
		if e.Kind == track.Unknown || e.Kind == track.Fast && e.Repaired && (e.TRec < 9*time.Millisecond || e.TRec > 29*time.Millisecond) {
			t.Errorf("packet %d: %v with T_rec %v, want none unknown and fast ones with 10 to 29 ms", e.DetectedPacket, e.Kind, e.TRec)
		}
		for _, r := range e.Retransmissions {
			if (r.Spurious == track.Spurious) != spurious[r.Packet] {
				t.Errorf("packet %d is spurious: %v, want %v", r.Packet, r.Spurious, spurious[r.Packet])
			}
		}
	}
	if len(f.episodes) < 70 {
		t.Errorf("%d retransmissions, want 74", len(f.episodes))
	}
}

// checkUnreachable: a router answers SYNs with ICMP errors.
func checkUnreachable(t *testing.T, f *publicFile) {
	router := netip.MustParseAddr("fd00:2003:4:0:a00:27ff:fe1f:9c5f")
	for _, c := range f.conns {
		if c.Outcome == track.Unreachable && c.UnreachableBy != router {
			t.Errorf("connection %d: %v, want %v", c.ID, c.UnreachableBy, router)
		}
	}
	if n, all := f.losses.Outcomes[track.Unreachable], f.losses.NeverEstablished(); n != 148 || all != 154 {
		t.Errorf("%d unreachable of %d, want 148 of 154: a router limits its errors", n, all)
	}
	if text := strings.Join(f.losses.Sentences(), " "); !strings.Contains(text, "unreachable (by ICMP of "+router.String()+")") {
		t.Errorf("%q does not say who said so", text)
	}
}

// TestBothEndsAgree compares two pairs of captures of the same connections: each loss that the
// receiver's capture shows is one at the sender, whose peer echoes no timestamps.
func TestBothEndsAgree(t *testing.T) {
	for _, pair := range [][2]string{{"t23", "t24"}, {"t25", "t26"}} {
		at := [2]map[uint32]*track.Episode{{}, {}}
		for i, name := range pair {
			for _, e := range readPublic(t, "third", name).episodes {
				at[i][uint32(e.Seq)] = e
			}
		}
		same := 0
		for seq, r := range at[1] {
			s := at[0][seq]
			if s == nil || r.Spurious != track.Necessary || r.Evidence != track.ByCapture {
				continue
			}
			if same++; s.Spurious == track.Spurious {
				t.Errorf("%s: packet %d was needed at the receiver, and is %v by %v at the sender, packet %d", pair[1], r.DetectedPacket, s.Spurious, s.Evidence, s.DetectedPacket)
			}
		}
		if same < 4 {
			t.Errorf("%v: %d losses in common, want more", pair, same)
		}
	}
}
