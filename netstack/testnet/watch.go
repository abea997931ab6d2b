package testnet

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// watched are the networks in bubbles. A goroutine outside of all bubbles, whose clock is the
// machine's, warns if the time of one stands still.
var watched = newWatch()

// watch is the state of that goroutine.
type watch struct {
	mu   sync.Mutex
	nets map[*Net]*watchedNet
	wake chan struct{} // has room for one value; the goroutine sleeps while there are no nets
	warn func(text string)
}

// watchedNet is what was last seen of a network.
type watchedNet struct {
	at     int64 // the network's time
	looks  int   // that found the same time
	warned bool
}

const (
	watchEvery = time.Second
	watchLooks = 10 // without progress, before the warning
)

func newWatch() *watch {
	w := &watch{nets: map[*Net]*watchedNet{}, wake: make(chan struct{}, 1), warn: func(text string) { fmt.Fprint(os.Stderr, text) }}
	go w.run()
	return w
}

func (w *watch) add(n *Net) {
	if !n.bubble {
		return
	}
	w.mu.Lock()
	w.nets[n] = &watchedNet{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watch) remove(n *Net) {
	w.mu.Lock()
	delete(w.nets, n)
	w.mu.Unlock()
}

// run looks at the networks as long as there are some.
func (w *watch) run() {
	for range w.wake {
		for w.look() {
			time.Sleep(watchEvery)
		}
	}
}

// look warns about networks that stand still, and reports whether there are any networks.
func (w *watch) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, s := range w.nets {
		switch at := n.moved.Load(); {
		case at != s.at:
			s.at, s.looks = at, 0
		case s.looks < watchLooks:
			s.looks++
		case !s.warned:
			s.warned = true
			w.warn(standstill(n.name, allStacks()))
		}
	}
	return len(w.nets) > 0
}

// allStacks returns the stacks of all goroutines.
func allStacks() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 1<<26 {
			return string(buf[:n])
		}
	}
}

var bubbled = regexp.MustCompile(`^goroutine \d+ .*synctest bubble \d+`)

// standstill describes why the time of a test's bubble stands still: the goroutines of bubbles that
// neither run nor wait in a way that a bubble sees.
func standstill(test, stacks string) string {
	culprits := slices.DeleteFunc(strings.Split(strings.TrimSpace(stacks), "\n\n"), func(g string) bool {
		state, _, _ := strings.Cut(g, "\n")
		return !bubbled.MatchString(state) || strings.Contains(state, "(durable)") || strings.Contains(state, "[sleep") ||
			strings.Contains(state, "sync.Cond.Wait") || strings.Contains(state, "synctest.")
	})
	text := fmt.Sprintf("testnet: %s: the time of the bubble has stood still for %v. It moves when every goroutine waits for "+
		"the bubble's clock, channels or network.\n", test, watchLooks*watchEvery)
	if len(culprits) == 0 {
		return text
	}
	return text + "These goroutines of bubbles run, or wait for something else, such as a sync.Mutex or the kernel:\n\n" +
		strings.Join(culprits, "\n\n") + "\n\n"
}
