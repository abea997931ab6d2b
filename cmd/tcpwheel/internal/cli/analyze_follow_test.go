package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// runUntil runs a command whose caller ends it by ctx, as a signal does.
func runUntil(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args ...string) int {
	return report(stderr, newRoot(args, stdin, stdout, stderr).ExecuteContext(ctx))
}

// plainSample returns a sample's capture, decompressed.
func plainSample(t *testing.T, name string) []byte {
	t.Helper()
	f, err := samples.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// recordsOf returns lines of JSON: the episodes by packet, and all lines of hosts and files.
func recordsOf(t *testing.T, text string) (episodes map[float64]map[string]any, rest []string) {
	t.Helper()
	episodes = map[float64]map[string]any{}
	for line := range strings.Lines(text) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch r["type"] {
		case "episode":
			episodes[r["retransmission_packet"].(float64)] = r
		case "host", "file":
			rest = append(rest, line)
		}
	}
	return episodes, rest
}

// inPieces writes text into a pipe in pieces of any size.
func inPieces(text []byte) io.Reader {
	r, w := io.Pipe()
	rng := rand.New(rand.NewPCG(1, uint64(len(text))))
	go func() {
		for len(text) > 0 {
			n := min(1+rng.IntN(3000), len(text))
			if _, err := w.Write(text[:n]); err != nil {
				return
			}
			text = text[n:]
		}
		w.Close()
	}()
	return r
}

// TestFollowIsAnalyze: the recoveries of a stream that comes in pieces are those of analyze, and so
// are the sums at its end.
func TestFollowIsAnalyze(t *testing.T) {
	want := map[string]string{"fast": "fast", "tlp": "tail_loss_probe", "rto": "timeout", "syn": "timeout"}
	all := 0
	for _, s := range samples.List() {
		for _, name := range s.Captures {
			text := plainSample(t, name)
			var followed, analyzed, talk bytes.Buffer
			if status := run([]string{"analyze", "--follow", "--json", "-"}, inPieces(text), &followed, &talk); status != exitOK {
				t.Fatalf("%s: status %d, %s", name, status, &talk)
			}
			if status := run([]string{"analyze", "--json", "-"}, bytes.NewReader(text), &analyzed, &talk); status != exitOK {
				t.Fatalf("%s: status %d, %s", name, status, &talk)
			}
			got, ends := recordsOf(t, followed.String())
			episodes, wantEnds := recordsOf(t, analyzed.String())
			for packet, e := range got {
				all++
				kind := want[e["kind"].(string)]
				if e["spurious"] == "yes" {
					kind = "spurious"
				}
				if is, _ := e["network.tcp.retransmit.type"].(string); is != kind {
					t.Errorf("%s: packet %v of kind %v, spurious %v, is called %q", name, packet, e["kind"], e["spurious"], is)
				}
				delete(e, "network.tcp.retransmit.type")
			}
			if !maps.EqualFunc(got, episodes, func(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }) {
				t.Errorf("%s: followed\n%s\nanalyzed\n%s", name, &followed, &analyzed)
			}
			if !reflect.DeepEqual(ends, wantEnds) {
				t.Errorf("%s: the end is\n%s\nwant\n%s", name, ends, wantEnds)
			}
		}
	}
	if all < 40 {
		t.Errorf("%d recoveries, want the samples' 40 and more", all)
	}
}

// watched is output that a test reads while a command writes it.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until the output has some text.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	for range 1000 {
		if strings.Contains(w.String(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %q in %q", text, w)
}

// TestFollowStream prints the recoveries of a stream before it ends. After an interrupt, while the
// pipe is silent, come the sentences and the table, those of analyze, the page, and exit status 0.
func TestFollowStream(t *testing.T) {
	text := plainSample(t, "outage/a.pcapng.gz")
	var out, talk watched
	page := filepath.Join(t.TempDir(), "page.html")
	stream, w := io.Pipe()
	defer w.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- runUntil(ctx, stream, &out, &talk, "analyze", "--follow", "--html", page, "-") }()
	w.Write(text[:len(text)/2])
	w.Write(text[len(text)/2:])
	out.await(t, " rto ") // though no packet follows
	lines := out.String()
	if strings.Contains(lines, "TCP packets in") || strings.Count(lines, "\n") != 3 {
		t.Errorf("before the end: %q, want a heading and two recoveries", lines)
	}
	interrupt()
	if got := <-ended; got != exitOK {
		t.Errorf("status %d, %s", got, &talk)
	}
	var want bytes.Buffer
	if got := run([]string{"analyze", "-"}, bytes.NewReader(text), &want, &talk); got != exitOK {
		t.Fatalf("status %d", got)
	}
	if got := strings.TrimPrefix(out.String(), lines); got != "\n"+want.String() || talk.String() != "tcpwheel: wrote "+page+"\n" {
		t.Errorf("the end is\n%s%s\nwant\n%s", got, &talk, &want)
	}
	if html, err := os.ReadFile(page); err != nil || !bytes.Contains(html, []byte("<svg")) {
		t.Errorf("%v, a page of %d bytes", err, len(html))
	}
}

// TestFollowBadInput: what cannot be followed, and input that is no capture or cut short.
func TestFollowBadInput(t *testing.T) {
	cut := plainSample(t, "outage/a.pcapng.gz")
	cut = cut[:len(cut)-100]
	for _, c := range []struct {
		args, stdin, says string
		status            int
	}{
		{"- -", "", "--follow reads one file or -, and 2 were given", exitUsage},
		{"--all -", "", "--follow and --all, want one of them", exitUsage},
		{"--annotate x -", "", "--follow and --annotate", exitUsage},
		{"-", "", "standard input: an empty file, want a capture", exitFailed},
		{"-", "this is no capture", "not a capture", exitFailed},
		{"-", string(cut), "the file is cut short", exitOK},
		{"none.pcap", "", "none.pcap: no such file", exitFailed},
		{"testdata", "", "--follow reads one file or -, and testdata is a directory", exitUsage},
	} {
		var out, talk bytes.Buffer
		status := run(append([]string{"analyze", "--follow"}, strings.Fields(c.args)...), strings.NewReader(c.stdin), &out, &talk)
		if status != c.status || !strings.Contains(talk.String(), c.says) {
			t.Errorf("%s: status %d, %q, want %d, %q", c.args, status, &talk, c.status, c.says)
		}
		if (out.Len() > 0) != (c.status == exitOK) {
			t.Errorf("%s: printed %q", c.args, &out)
		}
	}
}

// TestFollowEndsWhenOutputFails ends a stream that goes on, where the first recovery cannot be
// written.
func TestFollowEndsWhenOutputFails(t *testing.T) {
	silent, w := io.Pipe()
	in := io.MultiReader(bytes.NewReader(plainSample(t, "tail-one/a.pcapng.gz")), silent)
	defer w.Close()
	var talk bytes.Buffer
	if status := run([]string{"analyze", "--follow", "--json", "-"}, in, brokenPipe{}, &talk); status != exitFailed || !strings.Contains(talk.String(), "no space left") {
		t.Errorf("status %d: %s", status, &talk)
	}
}

// TestFollowMemory follows a stream of many connections that never end: memory stays within what
// so many at once take.
func TestFollowMemory(t *testing.T) {
	const conns, most = 60_000, 500
	defer func(n int) { followedConns = n }(followedConns)
	followedConns = most
	r, w := io.Pipe()
	peak := uint64(0)
	go func() {
		file, err := pcapng.NewWriter(w, "")
		if err == nil {
			_, err = file.AddInterface("", pcapng.LinkTypeRaw)
		}
		for i := 0; i < conns && err == nil; i++ {
			err = openConn(file, i)
			if i%10_000 == 9_999 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
		w.CloseWithError(err)
	}()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var out, talk bytes.Buffer
	if status := run([]string{"analyze", "--follow", "--json", "-"}, r, &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s", status, &talk)
	}
	_, ends := recordsOf(t, out.String())
	var file fileRecord
	if err := json.Unmarshal([]byte(ends[len(ends)-1]), &struct {
		*fileRecord
		Outcomes any `json:"outcomes"`
		Skipped  any `json:"skipped"`
	}{fileRecord: &file}); err != nil || file.Conns != conns || file.Evicted != conns-most {
		t.Errorf("%v: %d connections, %d evicted, want %d, %d", err, file.Conns, file.Evicted, conns, conns-most)
	}
	if grown := int64(peak) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("%d MB more memory for %d connections at once, want at most 32", grown>>20, most)
	}
}

// openConn writes the handshake of connection i, and a segment with its ACK.
func openConn(file *pcapng.Writer, i int) error {
	for n, p := range []struct {
		back     bool
		flags    byte
		seq, ack uint32
		bytes    int
	}{{false, 2, 0, 0, 0}, {true, 18, 0, 1, 0}, {false, 16, 1, 1, 0}, {false, 16, 1, 1, 100}, {true, 16, 1, 101, 0}} {
		f := make([]byte, 40+p.bytes)
		copy(f, "\x45\x00\x00\x00\x00\x00\x40\x00\x40\x06")
		binary.BigEndian.PutUint16(f[2:], uint16(len(f)))
		a, b := []byte{10, 0, byte(i >> 15), 1}, []byte{10, 1, 0, 1}
		from, to := uint16(1024+i%(1<<15)), uint16(80)
		if p.back {
			a, b, from, to = b, a, to, from
		}
		copy(f[12:], a)
		copy(f[16:], b)
		binary.BigEndian.PutUint16(f[20:], from)
		binary.BigEndian.PutUint16(f[22:], to)
		binary.BigEndian.PutUint32(f[24:], p.seq)
		binary.BigEndian.PutUint32(f[28:], p.ack)
		f[32], f[33], f[34] = 0x50, p.flags, 0xff
		if err := file.WritePacket(0, wheel.Time(i*100_000+n*1000), f, uint32(len(f)), ""); err != nil {
			return err
		}
	}
	return nil
}
