package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/wheel"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// frameEvery is the time between two frames.
const frameEvery = 50 * time.Millisecond

// Server drives a Run by the real clock and shows it to any number of pages. Multiple goroutines
// may invoke its methods.
type Server struct {
	token string
	hosts map[string]bool // names by which the page may be asked for

	mu       sync.Mutex
	run      *Run
	rec      []*recorder
	speed    float64
	paused   bool
	restarts int
	latest   *frame
	viewers  map[chan struct{}]bool
}

// NewServer returns a server for a run, which it owns from then on. addr is the address on which it
// will be reached.
func NewServer(run *Run, addr net.Addr) *Server {
	var token [16]byte
	rand.Read(token[:])
	s := &Server{token: hex.EncodeToString(token[:]), hosts: map[string]bool{}, run: run, speed: 1, viewers: map[chan struct{}]bool{}}
	host, port, _ := net.SplitHostPort(addr.String())
	for _, name := range []string{host, "localhost"} {
		s.hosts[net.JoinHostPort(name, port)] = true
	}
	s.watch()
	s.sample()
	return s
}

// URL returns the address of the page, with the token that its controls need.
func (s *Server) URL(addr net.Addr) string { return "http://" + addr.String() + "/?token=" + s.token }

// Handler returns the page, its stream and its controls. Every request must name the server as its
// Host. Controls also need the token, and an Origin that is the server's if there is one.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /lane/{name}", s.pcapng)
	mux.HandleFunc("POST /control", s.control)
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
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s.mu.Lock()
		var err error
		if !s.paused {
			err = s.run.AdvanceTo(s.run.now.Add(time.Duration(float64(frameEvery) * s.speed)))
		}
		s.sample()
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Results returns the results so far.
func (s *Server) Results() []Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Results()
}

// Close ends the run.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Close()
}

func (s *Server) watch() {
	s.rec = nil
	for _, l := range s.run.Lanes {
		s.rec = append(s.rec, l.watch())
	}
}

// sample makes the latest frame and wakes the viewers. A viewer that is slow misses frames.
func (s *Server) sample() {
	if s.latest != nil && s.latest.Time == s.run.now && s.latest.Paused == s.paused && s.latest.Speed == s.speed &&
		s.latest.Restarts == s.restarts && s.latest.Actions == s.run.Actions() {
		return
	}
	results := s.run.Results()
	f := &frame{
		Time: s.run.now, Speed: s.speed, Paused: s.paused, Seed: s.run.Seed, Actions: s.run.Actions(),
		Conditions: s.run.conditions.text(), Restarts: s.restarts, Verdict: Verdict(results),
	}
	for i, l := range s.run.Lanes {
		f.Lanes = append(f.Lanes, l.view(s.rec[i]))
	}
	s.latest = f
	for v := range s.viewers {
		select {
		case v <- struct{}{}:
		default:
		}
	}
}

// maxViewers bounds the pages that are open at once.
const maxViewers = 20

// events streams frames as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	wake := make(chan struct{}, 1)
	wake <- struct{}{}
	s.mu.Lock()
	full := len(s.viewers) >= maxViewers
	if !full {
		s.viewers[wake] = true
	}
	s.mu.Unlock()
	if full {
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer func() {
		s.mu.Lock()
		delete(s.viewers, wake)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	var seen []uint64 // by lane, the number of the next packet to show
	for restarts := -1; ; {
		select {
		case <-r.Context().Done():
			return
		case <-wake:
		}
		s.mu.Lock()
		f := *s.latest
		s.mu.Unlock()
		if f.Restarts != restarts || len(seen) != len(f.Lanes) {
			seen, restarts = make([]uint64, len(f.Lanes)), f.Restarts
		}
		f.Lanes = append([]laneView(nil), f.Lanes...)
		for i := range f.Lanes {
			f.Lanes[i].Packets = since(f.Lanes[i].transmitted, &seen[i])
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

// since returns the packets from number *next on, and moves *next past them.
func since(all []*Transmission, next *uint64) []*Transmission {
	i := len(all)
	for i > 0 && all[i-1].Seq >= *next {
		i--
	}
	if len(all) > 0 {
		*next = all[len(all)-1].Seq + 1
	}
	return all[max(i, len(all)-keptPackets):]
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(pageJS))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte(strings.NewReplacer("{{css}}", pageCSS, "{{js}}", pageJS).Replace(pageHTML)))
}

// pcapng serves the last minute of a lane: /lane/0.pcapng.
func (s *Server) pcapng(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(strings.TrimSuffix(r.PathValue("name"), ".pcapng"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || i < 0 || i >= len(s.rec) {
		http.Error(w, fmt.Sprintf("no lane %q, want 0 to %d", r.PathValue("name"), len(s.rec)-1), http.StatusNotFound)
		return
	}
	var b strings.Builder
	if err := s.rec[i].capture.write(&b, s.run.Lanes[i].Name); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "lane-"+itoa(i)+".pcapng"))
	w.Write([]byte(b.String()))
}

// command is a control of the page: a condition, "drop", or one of those in do.
type command struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !s.hosts[u.Host] {
			http.Error(w, "a page of another site", http.StatusForbidden)
			return
		}
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.do(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.sample()
	w.WriteHeader(http.StatusNoContent)
}

// do carries out a control.
func (s *Server) do(c command) error {
	switch c.Name {
	case "pause":
		s.paused = c.Text != "off"
		return nil
	case "step":
		s.paused = true
		return s.run.Step()
	case "speed":
		x, err := strconv.ParseFloat(c.Text, 64)
		if err != nil || !(x >= 0.0001 && x <= 10) {
			return fmt.Errorf("speed: %q, want 0.0001 to 10", c.Text)
		}
		s.speed = x
		return nil
	case "rewind": // seconds back
		back, err := strconv.ParseFloat(c.Text, 64)
		if err != nil || !(back >= 0 && back <= 1e6) {
			return fmt.Errorf("rewind: %q, want seconds, 0 to 1000000", c.Text)
		}
		to := max(0, s.run.now-wheel.Time(back*1e9))
		run, err := s.run.Again(to)
		if err != nil {
			return err
		}
		return s.replace(run, to)
	case "restart": // "SEED ACTIONS"
		seed, actions, _ := strings.Cut(c.Text, " ")
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return fmt.Errorf("restart: seed %q, want a number", seed)
		}
		list, err := ParseActions(actions)
		if err != nil {
			return err
		}
		run, err := NewRun(n, s.run.names, s.run.initial, list)
		if err != nil {
			return err
		}
		return s.replace(run, 0)
	}
	if c.Name == "" {
		return errors.New("no name")
	}
	return s.run.Do(c.Name, c.Text)
}

// replace puts another run in place of this one, at a time.
func (s *Server) replace(run *Run, to wheel.Time) error {
	s.run.Close()
	s.run = run
	s.restarts++
	s.watch()
	return run.AdvanceTo(to)
}
