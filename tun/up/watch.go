package up

import "net/http"

// Page is the page of a status server. Close is called once, before the host's stack ends.
type Page interface {
	http.Handler
	Close()
}

// Watcher sees what /events reports, from one goroutine. Seen must return soon: events that do not
// fit the queue meanwhile are dropped and counted.
type Watcher interface{ Seen(*Event) }

// watch adds or removes a watcher.
func (s *eventStream) watch(w Watcher, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on && !s.closed {
		s.watchers[w] = struct{}{}
	} else {
		delete(s.watchers, w)
	}
	s.active.Store(len(s.readers)+len(s.watchers) > 0)
}

// pass hands a batch to the watchers, and reports whether there are readers too.
func (s *eventStream) pass(batch []Event) (readers bool) {
	s.mu.Lock()
	var all []Watcher
	for w := range s.watchers {
		all = append(all, w)
	}
	readers = len(s.readers) > 0
	s.mu.Unlock()
	for _, w := range all {
		for i := range batch {
			w.Seen(&batch[i])
		}
	}
	return readers
}
