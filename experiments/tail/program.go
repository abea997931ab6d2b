package tail

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// program is the client's and server's part, in real time and in virtual time.
type program struct {
	spawn func(func())        // starts a goroutine
	sleep func(time.Duration) // pauses it
	dial  func() (net.Conn, error)

	// acks sets whether the client acknowledges at once or delays its ACKs. It is called before each
	// request, because the kernel resets the setting.
	acks func(c net.Conn, atOnce bool) error

	wrote func(c net.Conn) error // called after the response that counts is written; may be nil

	rtt     time.Duration
	size    int
	count   int
	control bool // nothing is lost, and ACKs are delayed at the end
	delay   bool // ACKs are delayed where the last segment is lost, too

	mu   sync.Mutex
	errs []error
}

func (p *program) fail(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, fmt.Errorf("%s: %w", what, err))
}

// err returns the first few errors.
func (p *program) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs[:min(3, len(p.errs))]...)
}

// serve answers each byte of a connection with a response.
func (p *program) serve(c net.Conn) {
	defer c.Close()
	response := make([]byte, p.size)
	b := make([]byte, 1)
	for i := 0; ; i++ {
		if _, err := io.ReadFull(c, b); err != nil {
			return // the client has closed
		}
		if _, err := c.Write(response); err != nil {
			p.fail("server", err)
			return
		}
		if i == warm && p.wrote != nil {
			if err := p.wrote(c); err != nil {
				p.fail("server", err)
				return
			}
		}
	}
}

// accept serves the clients' connections.
func (p *program) accept(l net.Listener) {
	for range p.count {
		c, err := l.Accept()
		if err != nil {
			p.fail("accept", err)
			return
		}
		p.spawn(func() { p.serve(c) })
	}
}

// clients runs all clients, staggered so that they do not wait for one another.
func (p *program) clients() {
	for i := range p.count {
		p.spawn(func() {
			p.sleep(time.Duration(i) * 7 * time.Millisecond)
			c, err := p.dial()
			if err != nil {
				p.fail("dial", err)
				return
			}
			defer c.Close()
			if err := p.client(c); err != nil {
				p.fail("client", err)
			}
		})
	}
}

// client requests responses, with pauses that are longer than a delayed ACK.
func (p *program) client(c net.Conn) error {
	rounds := warm + 1
	if p.control {
		rounds = warm + delayed
	}
	response := make([]byte, p.size)
	for i := range rounds {
		if err := p.acks(c, i < warm || !p.control && !p.delay); err != nil {
			return err
		}
		if _, err := c.Write([]byte{'?'}); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, response); err != nil {
			return fmt.Errorf("response %d: %w", i+1, err)
		}
		p.sleep(60*time.Millisecond + 2*p.rtt)
	}
	return nil
}
