package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/clitest"
	"tcpwheel/netstack/sim"
)

var (
	corpusDir   = flag.String("corpus-dir", "", "with TestCorpusSpeed: where the generated captures are, or go")
	corpusFiles = flag.Int("corpus-files", 200, "with TestCorpusSpeed: how many")
	corpusBytes = flag.Uint64("corpus-bytes", 46_000_000, "with TestCorpusSpeed: payload of each")
)

// largeCorpus makes the generated captures unless they exist, and returns a folder with them and
// the public ones.
func largeCorpus(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(*corpusDir, "captures")
	public := filepath.Join(dir, "public")
	if _, err := os.Stat(public); err != nil {
		if err := os.CopyFS(public, os.DirFS("../../../../shared/captures")); err != nil {
			t.Logf("without the public captures: %v", err)
		}
	}
	for i := range *corpusFiles {
		name := filepath.Join(dir, fmt.Sprintf("generated-%03d.pcapng", i))
		if _, err := os.Stat(name); err == nil {
			continue
		}
		losses, err := sim.ParseLosses([]string{"0.001", "0.01", "gilbert-elliott:p=0.001,r=0.3"}[i%3])
		if err != nil {
			t.Fatal(err)
		}
		body, err := clitest.CapturedFlows(uint64(i+1), 20, *corpusBytes/20, losses)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, body, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCorpusSpeed measures analyze --parquet with one and two captures at a time, three runs each,
// and kills a run ten times. It wants a folder with room for 10 GB:
//
//	go -C cmd/tcpwheel/tcpwheel-corpus test -run TestCorpusSpeed -v -timeout 1h \
//		-corpus-dir /var/tmp/corpus
func TestCorpusSpeed(t *testing.T) {
	if *corpusDir == "" {
		t.Skip("wants -corpus-dir")
	}
	dir := largeCorpus(t)
	var size int64
	var files int
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d bytes", files, size)
	out := filepath.Join(t.TempDir(), "tables")
	var medians []float64
	for _, jobs := range []string{"1", "2"} {
		var rates []float64
		for range 3 {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			c := ownProcess(t, "analyze", "-j", jobs, "--parquet", out, dir)
			c.Env = append(c.Env, "GOMAXPROCS="+jobs)
			if text, err := c.Output(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			took := time.Since(begun)
			cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			rates = append(rates, float64(size)/took.Seconds())
			t.Logf("-j %s: %v, %v of processors, %.0f MB/s", jobs, took.Round(time.Millisecond), cpu.Round(time.Millisecond), float64(size)/took.Seconds()/1e6)
		}
		slices.Sort(rates)
		medians = append(medians, rates[1])
	}
	t.Logf("two cores are %.2f times as fast as one", medians[1]/medians[0])
	killAndCompare(t, dir, out, filepath.Join(t.TempDir(), "killed"), 3*time.Second)
}
