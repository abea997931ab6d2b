package up

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// maxBytes bounds N of /bytes/N.
const maxBytes = 1 << 40

// newWeb returns what HTTP serves. The report is what /info tells.
func newWeb(report func() Report) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		r := report()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "tcpwheel: TCP %s behind %s\n\n", r.TCP, r.Device)
		fmt.Fprintf(w, "/bytes/N  N octets, always the same\n/info     all connections, as JSON\n\n")
		fmt.Fprintf(w, "Beside HTTP: echo at port %d, discard at %d, chargen at %d.\n", EchoPort, DiscardPort, ChargenPort)
	})
	mux.HandleFunc("GET /bytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
		if err != nil || n < 0 || n > maxBytes {
			http.Error(w, fmt.Sprintf("%q octets, want a whole number from 0 to %d", r.PathValue("n"), int64(maxBytes)), http.StatusBadRequest)
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
