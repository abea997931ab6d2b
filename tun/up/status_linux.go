package up

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// statusServer serves the state of a host in the network namespace of the process, not over its
// link.
type statusServer struct {
	http     http.Server
	listener net.Listener
	ended    chan struct{}
}

// startStatus serves at an address until close.
func startStatus(h *Host, at string) (*statusServer, error) {
	l := h.config.StatusListener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", at); err != nil {
			return nil, fmt.Errorf("status: %w", err)
		}
	}
	s := &statusServer{listener: l, ended: make(chan struct{})}
	s.http.Handler = checkHost(statusMux(h))
	s.http.ReadHeaderTimeout = 10 * time.Second
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(l) // ends with close
	}()
	return s, nil
}

// close ends the server and its connections.
func (s *statusServer) close() error {
	err := s.http.Close()
	<-s.ended
	return err
}

// statusMux returns the services of a status server.
func statusMux(h *Host) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.servePage)
	mux.HandleFunc("GET /info", h.serveInfo)
	mux.HandleFunc("GET /events", h.serveEvents)
	mux.HandleFunc("GET /metrics", h.serveMetrics)
	if h.config.serves(servePprof) {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// checkHost refuses requests whose Host is a name other than localhost. A page of another site
// could otherwise read the answers, after it has rebound its own name to this address.
func checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Host
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		if _, err := netip.ParseAddr(name); err != nil && name != "localhost" {
			http.Error(w, fmt.Sprintf("host %q, want an IP address or localhost", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveEvents sends the events from now on, as lines of JSON, until the client or the host ends.
func (s *Host) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	reader := s.observer.stream.subscribe()
	defer s.observer.stream.unsubscribe(reader)
	flush := http.NewResponseController(w)
	if err := flush.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case chunk, ok := <-reader.chunks:
			if !ok {
				return
			}
			if _, err := w.Write(chunk); err != nil {
				return
			}
			_ = flush.Flush()
		}
	}
}
