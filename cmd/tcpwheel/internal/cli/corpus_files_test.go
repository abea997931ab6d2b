package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/samples"
	"tcpwheel/wheel"
)

// captured returns the capture of 200 kB over a link with these losses and 20 ms in each direction.
func captured(losses sim.Losses) ([]byte, error) {
	link := sim.LinkConfig{Rate: 10_000_000, Delay: 20 * time.Millisecond, Loss: losses}
	f, err := host.NewFlows(host.FlowsConfig{Seed: 1, Flows: 1, Bytes: 200_000, Duration: time.Hour, Link: link, Policy: "linux"})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	out, err := pcapng.NewWriter(&b, "")
	if err != nil {
		return nil, err
	}
	epoch := wheel.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	for name, point := range map[string]sim.CapturePoint{"s1>r1": sim.AtSender, "r1>s1": sim.AtReceiver} {
		via, _ := f.World.Net.LinkNamed(name)
		tap, err := sim.NewCapture(out, "s1", pcapng.LinkTypeRaw, f.World.Serializer(), point, epoch)
		if err != nil {
			return nil, err
		}
		f.World.Net.Tap(via, tap)
	}
	for f.Run(f.World.Net.Now().Add(time.Second)) {
	}
	return b.Bytes(), f.Err()
}

// corpusFiles fills a folder with the sample captures, a few of them damaged, and with files that are
// no captures. It returns the folder.
func corpusFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, body []byte) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, body, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i, losses := range []string{"packets:20,60-62,146-147", "none", "0.02"} {
		l, err := sim.ParseLosses(losses)
		if err != nil {
			t.Fatal(err)
		}
		body, err := captured(l)
		if err != nil {
			t.Fatal(err)
		}
		write(fmt.Sprintf("a/%d.pcapng", i), body)
		if i == 0 {
			write("b/cut.pcapng", body[:len(body)/2+1])
			for k := range 2000 { // a packet and its length
				body[len(body)/2+k] = 0xff
			}
			write("b/damaged.pcapng", body)
		}
	}
	for _, s := range samples.List() {
		in, err := samples.Open(s.Captures[0])
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err = b.ReadFrom(in)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		write("samples/"+strings.ReplaceAll(s.Captures[0], "/", "-"), b.Bytes())
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("no capture, either"))
	z.Close()
	write("b/notes.gz", b.Bytes())
	write("README", []byte("This is no capture."))
	write(".hidden", []byte("hidden"))
	return dir
}
