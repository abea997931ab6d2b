package up

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxBytes bounds N of /bytes/N.
const maxBytes = 1 << 40

// page is what "/" serves.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

const pageHTML = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>tcpwheel: {{.Device}}</title>
<style>
body { font-family: sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; line-height: 1.4 }
td, th { text-align: left; padding-right: 2em }
</style>
<h1>TCP {{.TCP.Name}} behind {{.Device}}</h1>
<p>This host is {{range $i, $a := .Addrs}}{{if $i}} and {{end}}{{$a.Addr}}{{end}}, and the kernel at the other end of the
link {{range $i, $a := .HostAddrs}}{{if $i}} and {{end}}{{$a.Addr}}{{end}}.
<p>{{.TCP}}.
{{with .Link}}<p>Emulated {{.}}.
{{end}}<p>Connections now: {{range $state, $n := .States}}{{$n}} in {{$state}} {{else}}none{{end}}
<table>
<tr><th>where<th>what
<tr><td><a href="/info">/info</a><td>the state of this host, as JSON; <a href="/info?connections=all">with connections</a> and their timers
{{if .Status}}<tr><td><a href="/metrics">/metrics</a><td>for Prometheus
<tr><td><a href="/events">/events</a><td>timers, segments and recoveries from now on, as lines of JSON
<tr><td><a href="/debug/pprof/">/debug/pprof</a><td>profiles of this process
{{else}}<tr><td><a href="/bytes/1000000">/bytes/N</a><td>N bytes, always the same
<tr><td>port {{.Echo}}<td>echo
<tr><td>port {{.Discard}}<td>discard
<tr><td>port {{.Chargen}}<td>chargen
{{end}}{{range .Forwards}}<tr><td>{{range $i, $a := .Listen}}{{if $i}}, {{end}}{{$a}}{{end}}<td>{{.Kind}}: connects to {{.To}}
{{end}}</table>
</html>
`

// pageData is the data of page.
type pageData struct {
	Report
	Status                 bool // the status server's page, not the stack's
	Echo, Discard, Chargen int
}

// servePage serves "/".
func (s *Host) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	isStatus := s.status != nil && local != nil && local.String() == s.status.listener.Addr().String()
	_ = page().Execute(w, pageData{s.Report(Selection{}), isStatus, EchoPort, DiscardPort, ChargenPort})
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
	mux.HandleFunc("GET /info", s.serveInfo)
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
