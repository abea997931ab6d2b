package up

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"
)

// maxBytes bounds N of /bytes/N.
const maxBytes = 1 << 40

// page is what "/" serves.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>tcpwheel: {{.Device}}</title>
<style>
body { font-family: sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em; line-height: 1.4 }
td, th { text-align: left; padding-right: 2em }
</style>
<h1>TCP {{.TCP}} behind {{.Device}}</h1>
<p>This host is {{range $i, $a := .Addrs}}{{if $i}} and {{end}}{{$a.Addr}}{{end}}, and the kernel at the other end of the
link {{range $i, $a := .HostAddrs}}{{if $i}} and {{end}}{{$a.Addr}}{{end}}. Connections now: {{len .Connections}}.
<table>
<tr><th>where<th>what
<tr><td><a href="/bytes/1000000">/bytes/N</a><td>N bytes, always the same
<tr><td><a href="/info">/info</a><td>connections, timers and counters, as JSON
<tr><td>port {{.Echo}}<td>echo
<tr><td>port {{.Discard}}<td>discard
<tr><td>port {{.Chargen}}<td>chargen
{{range .Forwards}}<tr><td>{{range $i, $a := .Listen}}{{if $i}}, {{end}}{{$a}}{{end}}<td>{{.Kind}}: leads to {{.To}}
{{end}}</table>
</html>
`))

// pageData is the data of page.
type pageData struct {
	Report
	Echo, Discard, Chargen int
}

// newWeb returns the HTTP services. report returns the content of /info.
func newWeb(report func() Report) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = page.Execute(w, pageData{report(), EchoPort, DiscardPort, ChargenPort})
	})
	mux.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
		if err != nil || n < 0 || n > maxBytes {
			http.Error(w, fmt.Sprintf("%q bytes, want a whole number from 0 to %d", r.PathValue("n"), int64(maxBytes)), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, &Content{Size: n})
	})
	mux.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(report())
	})
	return mux
}
