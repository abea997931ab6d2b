package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
	"tcpwheel/pcaps/truth"
	"tcpwheel/pcaps/watch"
	"tcpwheel/tun"
	"tcpwheel/tun/kerneltruth"
	"tcpwheel/tun/netns"
)

// watchedKernels runs a scenario between two kernels, watched at a. It returns the episodes
// reported live and the directory with the capture, the link's log and the kernel's trace.
func watchedKernels(t *testing.T, s kerneltruth.Scenario) (live []*watch.Episode, dir string) {
	t.Helper()
	dir = t.TempDir()
	w := watch.New(watch.Config{Interface: "near", Episode: func(e *watch.Episode) { live = append(live, e) }})
	observe := func(a *tun.Namespace, device string) (func() error, error) {
		var l *watch.Listener
		if err := a.Do(func() (err error) {
			l, err = watch.Listen(device, watch.Options{})
			return err
		}); err != nil {
			return nil, err
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx, w) }()
		return func() error {
			time.Sleep(200 * time.Millisecond) // for the last block
			stop()
			return errors.Join(<-ended, w.Close(), l.Close())
		}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	netns.Must(t, kerneltruth.RunObserved(ctx, s, dir, observe))
	if s := w.Snapshot(); s.Packets == 0 || s.KernelDropped > 0 || s.Evicted > 0 {
		t.Fatalf("%s: %d packets, %d dropped, %d evicted", dir, s.Packets, s.KernelDropped, s.Evicted)
	}
	return live, dir
}

// episodeKey identifies an episode in two captures of the same packets.
type episodeKey struct {
	src, dst string
	seq      uint32
}

// episodesByKey returns the episodes of analyze.
func episodesByKey(t *testing.T, file string) map[episodeKey][]track.EpisodeRecord {
	t.Helper()
	var out, talk bytes.Buffer
	if status := run([]string{"analyze", "--json", file}, nil, &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s", status, &talk)
	}
	all := map[episodeKey][]track.EpisodeRecord{}
	for d := json.NewDecoder(&out); ; {
		var line json.RawMessage
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(line, []byte(`{"type":"episode"`)) {
			var r track.EpisodeRecord
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			k := episodeKey{r.Src, r.Dst, r.Seq}
			all[k] = append(all[k], r)
		}
	}
}

// TestWatchKernels watches connections between two kernels over a link with known losses. The
// episodes reported live are those of analyze on the link's capture at the same host, and the
// kernel's trace and the link's log agree with them. One scenario runs always, all of the samples
// in long tests.
func TestWatchKernels(t *testing.T) {
	scenarios, err := kerneltruth.ParseScenarios(samples.Scenarios())
	if err != nil {
		t.Fatal(err)
	}
	var all kernelKinds
	for _, s := range scenarios {
		if s.Name != "tail-three" && os.Getenv("TCPWHEEL_LONG") == "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) { watchScenario(t, s, &all) })
	}
	if wrong := all.named - all.right; wrong > 1 && wrong > all.named/10 {
		t.Errorf("%d of %d kinds are the kernel's", all.right, all.named)
	}
	t.Logf("%d episodes; %d of %d kinds are the kernel's", all.episodes, all.right, all.named)
}

// kernelKinds counts episodes, those whose cause the kernel's trace names, and the right ones.
type kernelKinds struct{ episodes, named, right int }

func watchScenario(t *testing.T, s kerneltruth.Scenario, all *kernelKinds) {
	live, dir := watchedKernels(t, s)
	want := episodesByKey(t, filepath.Join(dir, "a.pcapng.gz"))
	kernels, err := truth.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range live {
		if e.Uncertain != "" {
			t.Errorf("uncertain: %s", e.Uncertain)
		}
		k := episodeKey{e.Src, e.Dst, e.Seq}
		if len(want[k]) == 0 {
			t.Errorf("%s > %s, sequence number %d: analyze has no such episode", e.Src, e.Dst, e.Seq)
			continue
		}
		compareEpisodes(t, e, &want[k][0])
		want[k] = want[k][1:]
		all.episodes++
		if sent := sentAgain(t, kernels, e); sent != nil && sent.Kind != track.Unknown {
			all.named++
			// Of a probe that replaces the timeout only the kernel knows what it is.
			if sent.Kind.String() == e.Kind || sent.InPlace && e.Kind == track.RTO.String() {
				all.right++
			}
		}
	}
	for k, left := range want {
		if len(left) > 0 {
			t.Errorf("%v: %d episodes of analyze were not reported live", k, len(left))
		}
	}
}

// compareEpisodes compares an episode reported live with the link's capture, whose stamps are up to
// some milliseconds later on a busy machine.
func compareEpisodes(t *testing.T, e *watch.Episode, r *track.EpisodeRecord) {
	t.Helper()
	const within = 0.005
	near := func(what string, a, b *float64) {
		if (a == nil) != (b == nil) || a != nil && math.Abs(*a-*b) > within {
			t.Errorf("%s > %s, sequence number %d: %s %v, want %v", e.Src, e.Dst, e.Seq, what, value(a), value(b))
		}
	}
	near("d_s", &e.D, &r.D)
	near("a_s", e.A, r.A)
	near("t_rec_s", e.TRec, r.TRec)
	near("episode_s", e.Length, r.Length)
	near("time_lost_s", &e.TimeLost, &r.TimeLost)
	if e.Kind != r.Kind || e.Spurious != r.Spurious || e.Retransmissions != r.Retransmissions || e.Bytes != r.Bytes {
		t.Errorf("%s > %s, sequence number %d: %s, spurious %s, %d retransmissions, %d bytes; want %s, %s, %d, %d", e.Src, e.Dst, e.Seq,
			e.Kind, e.Spurious, e.Retransmissions, e.Bytes, r.Kind, r.Spurious, r.Retransmissions, r.Bytes)
	}
}

func value(x *float64) any {
	if x == nil {
		return "none"
	}
	return *x
}

// sentAgain returns the transmission in the link's log that began the episode. It reports one that
// is missing there.
func sentAgain(t *testing.T, k *truth.Kernels, e *watch.Episode) *truth.Sent {
	t.Helper()
	f := k.Flows[[2]netip.AddrPort{netip.MustParseAddrPort(e.Src), netip.MustParseAddrPort(e.Dst)}]
	at, err := time.Parse(time.RFC3339Nano, e.Retransmission)
	if f == nil || err != nil {
		t.Errorf("%s > %s at %s is not in the log", e.Src, e.Dst, e.Retransmission)
		return nil
	}
	const back = 100 * time.Millisecond // packets of b are captured after their delay
	i := slices.IndexFunc(f.Sent, func(s truth.Sent) bool {
		d := time.Duration(at.UnixNano() - int64(s.At))
		return s.Retransmission && uint32(s.Seq) == e.Seq && d > -5*time.Millisecond && d < back
	})
	if i < 0 {
		t.Errorf("%s > %s, sequence number %d at %s: the link has no such retransmission", e.Src, e.Dst, e.Seq, e.Retransmission)
		return nil
	}
	return &f.Sent[i]
}

// TestWatchLoad runs the command at 10,000 packets a second and checks what it costs, and that
// packets and losses are counted. A faster load must not take more memory than MaxConns allows.
func TestWatchLoad(t *testing.T) {
	if os.Getenv("TCPWHEEL_LONG") == "" {
		t.Skip("long: set TCPWHEEL_LONG=1")
	}
	helper := fmt.Sprintf("%s -test.run '^TestLoadHelper$'", os.Args[0])
	const rate, span = 10_000, 10
	script := fmt.Sprintf("%s='watch lo --json --duration %ds' %s & sleep 1; %s=%d %s=%d nice -n 19 %s; wait", loadArgs, span+3, helper,
		loadRate, rate, loadSpan, span, helper)
	var out, talk bytes.Buffer
	if status := run(linkArgs(t, "--", "/bin/sh", "-c", script), strings.NewReader(""), &out, &talk); status != exitOK {
		t.Fatalf("status %d: %s%s", status, &out, &talk)
	}
	var (
		user, system, perSecond float64
		sent, losses, made, kB  int
		summary                 watch.Snapshot
	)
	for line := range strings.SplitSeq(out.String(), "\n") {
		_, _ = fmt.Sscanf(line, "used %f s user, %f s system, %d kB at most", &user, &system, &kB)
		_, _ = fmt.Sscanf(line, "sent %d packets, %f a second, %d losses, %d connections", &sent, &perSecond, &losses, &made)
		if strings.HasPrefix(line, `{"type":"summary"`) {
			if err := json.Unmarshal([]byte(line), &summary); err != nil {
				t.Fatal(err)
			}
		}
	}
	share := 100 * (user + system) / float64(span+3)
	t.Logf("%d packets at %.0f a second, %d losses of %d connections; %d dropped; %.1f %% of a core, %d kB", sent, perSecond, losses, made,
		summary.KernelDropped, share, kB)
	if sent == 0 || summary.Packets+int64(summary.KernelDropped) != int64(sent) {
		t.Errorf("%d packets watched and %d dropped, want %d", summary.Packets, summary.KernelDropped, sent)
	}
	if got := summary.Total.All.Episodes + summary.Uncertain; got > losses || got < losses-20 {
		t.Errorf("%d episodes, want %d less the ones that did not end", got, losses)
	}
	if perSecond > 0.9*rate && share > 5 {
		t.Errorf("%.1f %% of a core at %.0f packets a second, want 5 %% at most", share, perSecond)
	}
}
