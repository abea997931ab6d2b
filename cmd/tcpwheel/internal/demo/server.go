package demo

import (
	"context"
	"crypto/rand"
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

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Server drives a Run by the real clock and shows it to any number of pages. Multiple goroutines
// may invoke its methods.
type Server struct {
	token string
	hosts map[string]bool // names by which the page may be asked for

	hub      *hub
	mu       sync.Mutex
	run      *Run
	rec      []*recorder
	speed    float64
	paused   bool
	restarts int
	shown    *frame // the latest
}

// NewServer returns a server for a run, which it owns from then on. addr is the address on which it
// will be reached.
func NewServer(run *Run, addr net.Addr) *Server {
	var token [16]byte
	rand.Read(token[:])
	s := &Server{token: hex.EncodeToString(token[:]), hosts: map[string]bool{}, run: run, speed: 1, hub: newHub()}
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
	mux.HandleFunc("GET /{$}", s.hub.page)
	mux.HandleFunc("GET /frames", s.hub.frames)
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

// Do does an action now, as the page does.
func (s *Server) Do(name, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Do(name, text)
}

// LossText says what became of the user's latest loss: see Run.LossText.
func (s *Server) LossText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.LossText()
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

// sample makes a frame, unless it would be the latest again.
func (s *Server) sample() {
	if f := s.shown; f != nil && f.Time == s.run.now && f.Paused == s.paused && f.Speed == s.speed && f.Restarts == s.restarts &&
		f.Actions == s.run.Actions() {
		return
	}
	results := s.run.Results()
	f := &frame{
		Time: s.run.now, Speed: s.speed, Paused: s.paused, Seed: s.run.Seed, Actions: s.run.Actions(), Initial: s.run.initial.text(","),
		Conditions: s.run.conditions.text(" "), Restarts: s.restarts, Verdict: Verdict(results), Losses: s.run.lossViews(),
		Policies: append(tcptimers.Names(), gvisorLane), Begun: s.run.names,
	}
	for i, l := range s.run.Lanes {
		f.Lanes = append(f.Lanes, l.view(s.rec[i]))
	}
	s.shown = f
	s.hub.show(f)
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
		run, err := s.run.Again(to, nil)
		if err != nil {
			return err
		}
		return s.replace(run, to)
	case "lanes": // other lanes, with the same history
		run, err := s.run.Again(s.run.now, strings.Split(c.Text, ","))
		if err != nil {
			return err
		}
		return s.replace(run, s.run.now)
	case "restart": // the page's address after #: seed, lanes, initial and actions
		run, err := s.again(c.Text)
		if err != nil {
			return fmt.Errorf("restart: %w", err)
		}
		return s.replace(run, 0)
	}
	if c.Name == "" {
		return errors.New("no name")
	}
	return s.run.Do(c.Name, c.Text)
}

// again makes the run that the address of a page describes. What it leaves out stays.
func (s *Server) again(text string) (*Run, error) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return nil, err
	}
	seed, lanes, initial := s.run.Seed, s.run.names, s.run.initial
	if x := q.Get("seed"); x != "" {
		if seed, err = strconv.ParseUint(x, 10, 64); err != nil {
			return nil, fmt.Errorf("seed %q, want a number", x)
		}
	}
	if x := q.Get("lanes"); x != "" {
		lanes = strings.Split(x, ",")
	}
	if x := q.Get("initial"); x != "" {
		initial = DefaultConditions()
		for part := range strings.SplitSeq(x, ",") {
			name, value, _ := strings.Cut(part, "=")
			if err := initial.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	actions, err := ParseActions(q.Get("actions"))
	if err != nil {
		return nil, err
	}
	return NewRun(seed, lanes, initial, actions)
}

// replace puts another run in place of this one, at a time.
func (s *Server) replace(run *Run, to wheel.Time) error {
	s.run.Close()
	s.run = run
	s.restarts++
	s.watch()
	return run.AdvanceTo(to)
}
