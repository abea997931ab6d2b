package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tcpwheel/cmd/tcpwheel/internal/lanes"
)

// Server drives a lanes.Player by the real clock and shows it to any number of pages. Multiple
// goroutines may invoke its methods.
type Server struct {
	token string
	hosts map[string]bool // names by which the page may be asked for

	latest  atomic.Pointer[lanes.Frame]
	viewers atomic.Int32

	mu     sync.Mutex
	player *lanes.Player
}

// NewServer returns a server for a run, which it owns from then on. addr is the address on which it
// will be reached.
func NewServer(run *lanes.Run, addr net.Addr) *Server {
	var token [16]byte
	rand.Read(token[:])
	s := &Server{token: hex.EncodeToString(token[:]), hosts: map[string]bool{}, player: lanes.NewPlayer(run)}
	host, port, _ := net.SplitHostPort(addr.String())
	for _, name := range []string{host, "localhost"} {
		s.hosts[net.JoinHostPort(name, port)] = true
	}
	s.latest.Store(s.player.Frame())
	return s
}

// URL returns the address of the page, with the token that its controls need.
func (s *Server) URL(addr net.Addr) string { return "http://" + addr.String() + "/?token=" + s.token }

// Handler returns the page, its stream and its controls. Every request must name the server as its
// Host. The stream and the controls are for the server's own page, or none, and controls also need
// the token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		text, policy := page()
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte(text))
	})
	mux.HandleFunc("GET /frames", forOwnPage(s.frames))
	mux.HandleFunc("POST /control", forOwnPage(s.control))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.hosts[r.Host] {
			http.Error(w, "unknown host: open the address that the command printed", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	})
}

// Drive advances the run by the real clock until ctx ends.
func (s *Server) Drive(ctx context.Context) error {
	tick := time.NewTicker(lanes.FrameEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.locked(func(p *lanes.Player) error { return p.Tick(lanes.FrameEvery) }); err != nil {
			return err
		}
	}
}

// locked does something with the player, and shows its frame.
func (s *Server) locked(do func(*lanes.Player) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := do(s.player)
	s.latest.Store(s.player.Frame())
	return err
}

// Do does an action now, as the page does.
func (s *Server) Do(name, text string) error {
	return s.locked(func(p *lanes.Player) error { return p.Control(name, text) })
}

// State is what a terminal shows of a run.
type State struct {
	Heading string // what the lanes differ in
	Results []lanes.Result
	Loss    string // what became of the user's latest loss: see lanes.Run.LossText
	Paused  bool
}

// State returns the state of now.
func (s *Server) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return State{s.player.Heading(), s.player.Results(), s.player.LossText(), s.player.Frame().Paused}
}

// Close ends the run.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.player.Close()
}

// forOwnPage refuses requests, whose Host was checked, of pages of other sites. Such a page could not
// read a stream, but it could take the places of all viewers.
func forOwnPage(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
		if origin != "" && origin != "http://"+r.Host || site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "a page of another site", http.StatusForbidden)
			return
		}
		do(w, r)
	}
}

// maxViewers bounds the pages that are open at once.
const maxViewers = 20

// frames streams frames as server-sent events. A page that is slow misses frames: nothing waits for
// it.
func (s *Server) frames(w http.ResponseWriter, r *http.Request) {
	defer s.viewers.Add(-1)
	if s.viewers.Add(1) > maxViewers {
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	tick := time.NewTicker(lanes.FrameEvery)
	defer tick.Stop()
	var viewer lanes.Viewer
	for shown := (*lanes.Frame)(nil); ; {
		if f := s.latest.Load(); f != shown {
			shown = f
			text, err := json.Marshal(viewer.Next(f))
			if err != nil {
				return
			}
			out.SetWriteDeadline(time.Now().Add(10 * time.Second))
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// command is a control of the page: see lanes.Player.Control.
type command struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Token") != s.token {
		http.Error(w, "no token: open the address that the command printed", http.StatusForbidden)
		return
	}
	var c command
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		http.Error(w, "want {\"name\": …, \"text\": …}: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := s.Do(c.Name, c.Text); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
