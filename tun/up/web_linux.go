package up

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// maxBytes bounds N of /bytes/N.
const maxBytes = 1 << 40

// servePage serves "/".
func (s *Host) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	isStatus := s.status != nil && local != nil && local.String() == s.status.listener.Addr().String()
	report := s.Report(Selection{})
	_ = s.config.page(&report, isStatus).Render(w)
}

const pageStyle = `
body { font-family: sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; line-height: 1.4 }
td, th { text-align: left; padding-right: 2em }
`

// page is what "/" serves: the status server's page, or the stack's, which says nothing of the
// host's state unless info is served.
func (c *Config) page(r *Report, isStatus bool) g.Node {
	open := isStatus || c.serves(serveInfo)
	var states []string
	for _, state := range slices.Sorted(maps.Keys(r.States)) {
		states = append(states, fmt.Sprintf("%v in %s", r.States[state], state))
	}
	if states == nil {
		states = []string{"none"}
	}
	link := func(path string) g.Node { return h.A(h.Href(path), g.Text(path)) }
	row := func(where g.Node, what ...g.Node) g.Node {
		return g.Group{h.Tr(h.Td(where), h.Td(what...)), g.Raw("\n")}
	}
	var rows g.Group
	if open {
		rows = g.Group{row(link("/info"), g.Text("the state of this host, as JSON; "), h.A(h.Href("/info?connections=all"), g.Text("with connections")), g.Text(" and their timers"))}
	}
	if isStatus {
		rows = append(rows, row(link("/metrics"), g.Text("for Prometheus")),
			row(link("/events"), g.Text("timers, segments and recoveries from now on, as lines of JSON")))
		if c.serves(servePprof) {
			rows = append(rows, row(link("/debug/pprof/"), g.Text("profiles of this process")))
		}
	} else {
		rows = append(rows, row(h.A(h.Href("/bytes/1000000"), g.Text("/bytes/N")), g.Text("N bytes, always the same")))
		for _, s := range servicePorts {
			if name := strings.ToLower(s.name); s.port != HTTPPort && c.serves(name) {
				rows = append(rows, row(g.Textf("port %d", s.port), g.Text(name)))
			}
		}
	}
	for _, f := range r.Forwards {
		if !open {
			break
		}
		rows = append(rows, row(g.Text(joined(f.Listen, ", ")), g.Textf("%v: connects to %v", f.Kind, f.To)))
	}
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width")), h.TitleEl(g.Text("tcpwheel: "+r.Device)), h.StyleEl(g.Raw(pageStyle))),
		h.Body(
			h.H1(g.Textf("TCP %s behind %s", r.TCP.Name, r.Device)),
			h.P(g.Textf("This host is %s, and the kernel at the other end of the link %s.", joined(addrs(r.Addrs), " and "), joined(addrs(r.HostAddrs), " and "))),
			h.P(g.Textf("%v.", r.TCP)),
			g.Iff(r.Link != nil, func() g.Node { return h.P(g.Textf("Emulated %v.", r.Link)) }),
			g.If(open, h.P(g.Text("Connections now: "+strings.Join(states, ", ")))),
			h.Table(h.Tr(h.Th(g.Text("where")), h.Th(g.Text("what"))), rows),
		),
	))
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
