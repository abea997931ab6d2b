package tail

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// program is what client and server do, in real time as in virtual time.
type program struct {
	spawn func(func())        // starts a goroutine
	sleep func(time.Duration) // has it wait
	dial  func() (net.Conn, error)

	// acks has the client acknowledge at once from now on, or put its ACKs off. It is called after each read, as the kernel
	// goes back by itself.
	acks func(c net.Conn, atOnce bool) error

	wrote func(c net.Conn) error // called when the response that counts is written; nil is none

	rtt     time.Duration
	size    int
	count   int
	control bool // nothing is lost, and ACKs are put off in the end
	delay   bool // they are also where the last segment is lost

	mu   sync.Mutex
	errs []error
}

func (p *program) fail(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errs = append(p.errs, fmt.Errorf("%s: %w", what, err))
}

// err returns what went wrong, the first few.
func (p *program) err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs[:min(3, len(p.errs))]...)
}

// serve answers each octet of a connection by a response.
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

// accept serves the connections that come.
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

// clients runs all clients, a little apart, so that they do not wait for one another.
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

// client asks for responses, with pauses in which a delayed ACK leaves.
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
