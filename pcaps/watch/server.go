package watch

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"tcpwheel/internal/record"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// maxViewers bounds the pages that are open at once.
const maxViewers = 20

// Handler serves the page at /, its stream at /events, /snapshot as JSON and /metrics. Requests
// must name an address or localhost as their host.
func (w *Watcher) Handler() http.Handler {
	var viewers atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", servePage)
	mux.HandleFunc("GET /events", func(rw http.ResponseWriter, r *http.Request) {
		defer viewers.Add(-1)
		if viewers.Add(1) > maxViewers {
			http.Error(rw, fmt.Sprintf("%d pages are open, want fewer", maxViewers), http.StatusServiceUnavailable)
			return
		}
		w.serveEvents(rw, r)
	})
	mux.HandleFunc("GET /snapshot", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(w.Snapshot()) // the reader may be gone
	})
	mux.HandleFunc("GET /metrics", w.serveMetrics)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !isAddress(r.Host) {
			http.Error(rw, fmt.Sprintf("host %q, want an IP address or localhost", r.Host), http.StatusForbidden)
			return
		}
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		rw.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(rw, r)
	})
}

// isAddress reports whether a request's host is an address. A name may be another site's, rebound
// to this address so that its page can read the answers.
func isAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "localhost"
}

func servePage(rw http.ResponseWriter, _ *http.Request) {
	sum := sha256.Sum256([]byte(pageJS))
	rw.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = strings.NewReplacer("{{css}}", pageCSS, "{{js}}", pageJS, "{{kinds}}", kindColumns, "{{losers}}", loserColumns).WriteString(rw, pageHTML)
}

// The columns of the page's tables, for an attribute.
var (
	kindColumns  = pageColumns[KindTally]("kind time_lost_s p50_s p95_s p99_s episodes spurious unrepaired never_repaired unmeasured timer_wait_s")
	loserColumns = pageColumns[Loser]("name episodes time_lost_s")
)

// pageColumns returns name, heading, unit and help of each column, as JSON for an attribute.
func pageColumns[T any](names string) string {
	var all [][4]string
	for _, f := range record.Select(reflect.TypeFor[T](), names) {
		all = append(all, [4]string{f.Name, f.Head, f.Unit(), f.Help})
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("BUG: " + err.Error()) // texts
	}
	return html.EscapeString(string(text))
}

// serveEvents streams a snapshot each second as server-sent events.
func (w *Watcher) serveEvents(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(rw)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		text, err := json.Marshal(w.Snapshot())
		if err != nil {
			return
		}
		_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprintf(rw, "data: %s\n\n", text); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
