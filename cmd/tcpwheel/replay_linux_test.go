package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun/kernels"
)

// lossyScenario draws what V2 is to be told by: one to three connections over 4 to 100 ms, some of them over 5 to 100 Mbit/s, of which 1 to
// 5 % are lost, singly or in bursts, and of some the ACKs too; in bulk, in bursts, in small writes and in responses by turns.
func lossyScenario(seed uint64) kernels.Scenario {
	r := rand.New(rand.NewPCG(seed, 0x76322d76616c))
	between := func(least, most float64) float64 { return least * math.Exp(r.Float64()*math.Log(most/least)) }
	pause := func(least, most float64) kernels.Span {
		return kernels.Span(between(least, most) * float64(time.Millisecond))
	}
	rtt := time.Duration(between(4, 100) * float64(time.Millisecond))
	s := kernels.Scenario{
		Name: fmt.Sprintf("lossy-%d", seed), Seed: seed, IPv6: r.Float64() < 0.3, Limit: kernels.Span(20 * time.Second), Connections: 1 + r.IntN(3),
	}
	link := sim.LinkConfig{Delay: rtt / 2}
	if r.Float64() < 0.4 {
		rate := between(5e6, 1e8)
		link.Rate = uint64(rate)
		link.Queue = sim.Limit{Packets: uint32(max(10, rate/12_000*rtt.Seconds()*between(0.7, 3)))}
	}
	s.Near = kernels.Path{AToB: link, BToA: link}
	p := 0.01 + 0.04*r.Float64()
	if r.IntN(3) == 0 {
		s.Near.AToB.Loss = sim.Losses{sim.GilbertElliott{P: p / 3, R: 0.4, Bad: 1}}
	} else {
		s.Near.AToB.Loss = sim.Losses{sim.Bernoulli{P: p}}
	}
	if r.Float64() < 0.3 {
		s.Near.BToA.Loss = sim.Losses{sim.Bernoulli{P: 0.03 * r.Float64()}}
	}
	end := kernels.Turn{From: "b", Octets: 1}
	switch seed % 4 {
	case 0:
		s.Turns = []kernels.Turn{{From: "a", Octets: int(between(1e5, 1e6))}, end}
	case 1:
		s.Turns = []kernels.Turn{{From: "a", Octets: int(between(3e3, 6e4)), Pause: pause(20, 400), Times: 8}, end}
		s.Rounds = 2
	case 2:
		s.Turns = []kernels.Turn{{From: "a", Octets: 200 + r.IntN(1200), Pause: pause(20, 300), Times: 15}, end}
		s.Rounds = 2
	case 3:
		s.Turns = []kernels.Turn{{From: "b", Octets: 200 + r.IntN(400), Pause: pause(5, 100)}, {From: "a", Octets: int(between(1e3, 6e4))}}
		s.Rounds = 15
	}
	return s
}

// TestReplayKernels is V2 to V4 with kernels: it captures connections of two kernels and has the command validate replays of them. How many
// it takes is TCPWHEEL_SCENARIOS, 8 if it is not set, and their first seed TCPWHEEL_SEED; the captures stay in the folder TCPWHEEL_KEEP, if it
// is set, each in one by its seed; -v shows the table. Where much else runs beside, the timers of the kernels are late, and no model knows by
// how much. So what fails here is only what no load explains: other timers that come as near, or replays that are far off mostly.
func TestReplayKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	number := func(name string, otherwise int) int {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q, want a number above 0", name, text)
		}
		return n
	}
	n, seed := number("TCPWHEEL_SCENARIOS", 8), number("TCPWHEEL_SEED", 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*30*time.Second)
	defer cancel()
	args := []string{"replay", "--validate"}
	errs := make([]error, n)
	var all sync.WaitGroup
	slots := make(chan struct{}, 3)
	for i := range n {
		dir := t.TempDir()
		if keep := os.Getenv("TCPWHEEL_KEEP"); keep != "" {
			dir = filepath.Join(keep, strconv.Itoa(seed+i))
		}
		args = append(args, filepath.Join(dir, "a.pcapng.gz"))
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = kernels.Run(ctx, lossyScenario(uint64(seed+i)), dir)
		})
	}
	all.Wait()
	err := errors.Join(errs...)
	for _, missing := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENODEV, syscall.ENXIO} {
		if errors.Is(err, missing) {
			t.Skipf("no links, or no trace of the kernel, to be had here: %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	validate := func(args ...string) []byte {
		var out bytes.Buffer
		cmd := newRoot(bytes.NewReader(nil), &out, io.Discard)
		cmd.SetArgs(args)
		var missed *violation
		if err := cmd.ExecuteContext(ctx); err != nil && !errors.As(err, &missed) {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	t.Logf("\n%s", validate(args...))
	rows := json.NewDecoder(bytes.NewReader(validate(append(args, "--json")...)))
	for i := 0; ; i++ {
		var row validationRow
		if err := rows.Decode(&row); err == io.EOF {
			if i < 4 {
				t.Errorf("%d rows, want V2, two of V3, and V4", i)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case !row.Want && row.Passes:
			t.Errorf("%s passes, with other timers than the kernel's", row.Check)
		case row.Want && (row.Median > 0.05 || row.FastRight*5 < row.Fast*4):
			t.Errorf("%s: recovery times are off by %.1f %% in the median, and %d of %d fast retransmissions are right", row.Check, 100*row.Median, row.FastRight, row.Fast)
		}
	}
}
