package demo

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed words.js
	wordsJS string
	//go:embed diagrams.js
	diagramsJS string
	//go:embed page.js
	pageJS string
)

// script is the program of the page.
func script() string { return "\"use strict\";\n" + wordsJS + diagramsJS + pageJS }

// hub shows frames to any number of pages. A page that is slow misses frames: nothing waits for it.
// Multiple goroutines may invoke its methods.
type hub struct {
	mu      sync.Mutex
	latest  *frame
	viewers map[chan struct{}]bool
	watched func(bool) // if not nil, called when the first viewer comes and when the last one goes
}

func newHub() *hub { return &hub{viewers: map[chan struct{}]bool{}} }

// show makes f the latest frame and wakes the viewers.
func (h *hub) show(f *frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = f
	for v := range h.viewers {
		select {
		case v <- struct{}{}:
		default:
		}
	}
}

// maxViewers bounds the pages that are open at once.
const maxViewers = 20

// enter adds a viewer. ok is false if there are too many.
func (h *hub) enter() (wake chan struct{}, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= maxViewers {
		return nil, false
	}
	wake = make(chan struct{}, 1)
	h.viewers[wake] = true
	if h.watched != nil && len(h.viewers) == 1 {
		h.watched(true)
	}
	if h.latest != nil {
		wake <- struct{}{}
	}
	return wake, true
}

func (h *hub) leave(wake chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, wake)
	if h.watched != nil && len(h.viewers) == 0 {
		h.watched(false)
	}
}

// cursor is how far a viewer has seen the lists of a lane.
type cursor struct{ packets, notes uint64 }

// frames streams frames as server-sent events.
func (h *hub) frames(w http.ResponseWriter, r *http.Request) {
	wake, ok := h.enter()
	if !ok {
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer h.leave(wake)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	var seen []cursor
	for restarts := -1; ; {
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
		h.mu.Lock()
		f := *h.latest
		h.mu.Unlock()
		if f.Restarts != restarts || len(seen) != len(f.Lanes) {
			seen, restarts = make([]cursor, len(f.Lanes)), f.Restarts
		}
		f.Lanes = append([]laneView(nil), f.Lanes...)
		for i := range f.Lanes {
			l := &f.Lanes[i]
			l.Packets, l.Notes = since(l.transmitted, &seen[i].packets), since(l.noted, &seen[i].notes)
		}
		text, err := json.Marshal(&f)
		if err != nil {
			return
		}
		out.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || out.Flush() != nil {
			return
		}
	}
}

func (h *hub) page(w http.ResponseWriter, r *http.Request) {
	js := script()
	sum := sha256.Sum256([]byte(js))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(strings.NewReplacer("{{css}}", pageCSS, "{{js}}", js).Replace(pageHTML)))
}
