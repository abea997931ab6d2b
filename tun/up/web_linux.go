package up

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBytes bounds N of /bytes/N.
const maxBytes = 1 << 40

// servePage serves "/": what is served and where, as text.
func (s *Host) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	isStatus := s.status != nil && local != nil && local.String() == s.status.listener.Addr().String()
	report := s.Report(Selection{})
	_, _ = io.WriteString(w, s.config.page(&report, isStatus))
}

// page is what "/" serves: the status server's page, or the stack's, which says nothing of the
// host's state unless info is served.
func (c *Config) page(r *Report, isStatus bool) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("TCP %s behind %s: this host is %s, and the kernel at the other end of the link %s.", r.TCP.Name, r.Device,
		joined(addrs(r.Addrs), " and "), joined(addrs(r.HostAddrs), " and "))
	line("%v.", r.TCP)
	if r.Link != nil {
		line("Emulated %v.", r.Link)
	}
	open := isStatus || c.serves(serveInfo)
	if open {
		for _, state := range slices.Sorted(maps.Keys(r.States)) {
			line("%v connections in %s.", r.States[state], state)
		}
		line("\n/info       the state of this host, as JSON; /info?connections=all with connections and their timers")
	}
	if isStatus {
		line("/metrics    for Prometheus\n/events     timers, segments and recoveries from now on, as lines of JSON")
		if c.serves(servePprof) {
			line("/debug/pprof/  profiles of this process")
		}
	} else {
		line("/bytes/N    N bytes, always the same")
		for _, s := range servicePorts {
			if name := strings.ToLower(s.name); s.port != HTTPPort && c.serves(name) {
				line("port %-6d %s", s.port, name)
			}
		}
	}
	for _, f := range r.Forwards {
		if open {
			line("%-11s %v: connects to %v", joined(f.Listen, ", "), f.Kind, f.To)
		}
	}
	return b.String()
}

func addrs(all []netip.Prefix) (of []netip.Addr) {
	for _, p := range all {
		of = append(of, p.Addr())
	}
	return of
}

func joined[T fmt.Stringer](all []T, with string) string {
	var b strings.Builder
	for i, x := range all {
		if i > 0 {
			b.WriteString(with)
		}
		b.WriteString(x.String())
	}
	return b.String()
}

// serveInfo serves /info. The query selects connections.
func (s *Host) serveInfo(w http.ResponseWriter, r *http.Request) {
	selected, err := parseSelection(r.FormValue("connections"), r.FormValue("limit"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(s.Report(selected))
}

// newWeb returns the HTTP services of the stack.
func newWeb(s *Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	if s.config.serves(serveInfo) {
		mux.Handle("GET /info", checkHost(http.HandlerFunc(s.serveInfo)))
	}
	mux.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
		if err != nil || n < 0 || n > maxBytes {
			http.Error(w, fmt.Sprintf("%q bytes, want a whole number from 0 to %d", r.PathValue("n"), int64(maxBytes)), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, &Content{Size: n})
	})
	return mux
}
