package demo

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/internal/setting"
	"tcpwheel/pcaps/htmlpage"
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
	//go:embed server.js
	serverJS string
)

// Body returns the HTML of the demo, for an element of class "demo".
func Body() string {
	var fields strings.Builder
	for _, s := range setting.All(lanes.Conditions{}) {
		fmt.Fprintf(&fields, "<label title=\"%s\">%s <input name=\"%[2]s\" size=\"7\"", html.EscapeString(s.Help), s.Name)
		if strings.HasSuffix(s.Help, "(default: the policy's)") {
			fields.WriteString(` placeholder="its own"`)
		}
		fields.WriteString("></label>\n")
	}
	return strings.Replace(pageHTML, "{{conditions}}", fields.String(), 1)
}

// Style returns the CSS of Body. It needs that of package htmlpage.
func Style() string { return pageCSS }

// Script returns the function startDemo, which runs Body from any source of frames.
func Script() string { return wordsJS + diagramsJS + pageJS }

// page is the page of a program on this machine, and its policy.
var page = sync.OnceValues(func() (text, policy string) {
	js := "\"use strict\";\n" + Script() + serverJS
	sum := sha256.Sum256([]byte(js))
	policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<title>tcpwheel demo</title><style>" + htmlpage.CSS() + "body { max-width: 1700px; }\n" + pageCSS + "</style></head>\n<body><main class=\"demo\">\n" +
		Body() + "</main>\n<script>" + js + "</script></body></html>\n", policy
})

// hub shows frames to any number of pages. A page that is slow misses frames: nothing waits for it.
// Multiple goroutines may invoke its methods.
type hub struct {
	mu      sync.Mutex
	latest  *lanes.Frame
	viewers map[chan struct{}]bool
}

func newHub() *hub { return &hub{viewers: map[chan struct{}]bool{}} }

// show makes f the latest frame and wakes the viewers.
func (h *hub) show(f *lanes.Frame) {
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

// shown returns the latest frame.
func (h *hub) shown() *lanes.Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.latest
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
	if h.latest != nil {
		wake <- struct{}{}
	}
	return wake, true
}

func (h *hub) leave(wake chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, wake)
}

// isOwnPage reports whether a request, whose Host was checked, comes from this server's page or from
// no page. Another page could not read a stream, but it could take the places of all viewers.
func isOwnPage(r *http.Request) bool {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	return (origin == "" || origin == "http://"+r.Host) && (site == "" || site == "none" || site == "same-origin")
}

// frames streams frames as server-sent events, to pages of this server.
func (h *hub) frames(w http.ResponseWriter, r *http.Request) {
	if !isOwnPage(r) {
		http.Error(w, "a page of another site", http.StatusForbidden)
		return
	}
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
	for viewer := (lanes.Viewer{}); ; {
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
		h.mu.Lock()
		f := h.latest
		h.mu.Unlock()
		text, err := json.Marshal(viewer.Next(f))
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
	text, policy := page()
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(text))
}
