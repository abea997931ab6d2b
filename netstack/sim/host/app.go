package host

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// App is an application on one connection.
type App interface {
	// OnEvents reports events of s. No event means that another part of the application has acted.
	// The last call has EventClosed. It may call all methods of s and its host; the events that
	// this causes are reported after it returns.
	OnEvents(now wheel.Time, s *Session, ev tcp.Events)
}

// Apps are parts of one application. Each gets every event, in turn.
type Apps []App

// OnEvents implements App.
func (a Apps) OnEvents(now wheel.Time, s *Session, ev tcp.Events) {
	for _, app := range a {
		app.OnEvents(now, s, ev)
	}
}

// AppFunc is a function as an App.
type AppFunc func(now wheel.Time, s *Session, ev tcp.Events)

// OnEvents implements App.
func (f AppFunc) OnEvents(now wheel.Time, s *Session, ev tcp.Events) { f(now, s, ev) }

// alarm is an application's timer. The zero value is ready, and costs nothing until it is started.
type alarm struct {
	session *Session
	wake    func(now wheel.Time)
	timer   wheel.Timer
	made    bool
	set     bool
}

// startOnce starts the alarm to call wake after d, unless it is running.
func (a *alarm) startOnce(now wheel.Time, d time.Duration, s *Session, wake func(now wheel.Time)) {
	if a.set {
		return
	}
	net := s.host.world.Net
	if !a.made {
		a.session, a.made = s, true
		a.timer = net.NewTimer(a)
	}
	a.wake, a.set = wake, true
	net.StartTimer(a.timer, now.Add(d))
}

// Expire implements sim.Handler.
func (a *alarm) Expire(now wheel.Time) {
	a.set = false
	a.wake(now)
}

// free releases the timer.
func (a *alarm) free() {
	if a.made {
		a.session.host.world.Net.FreeTimer(a.timer)
		a.made, a.set = false, false
	}
}
