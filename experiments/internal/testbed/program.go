package testbed

import (
	"io"
	"net"
	"time"
)

// surroundings are what the receiver of a flow needs of a run.
type surroundings interface {
	dial(port uint16) (net.Conn, error)
	pause(d time.Duration) (more bool) // false: the run is over
	start(f *flow, object int)
	end(f *flow)
	push(f *flow, object int) // the sender writes an object
	reading(c net.Conn)       // the receiver is about to read
}

// receive is the program of a flow's receiver. An error is that of a connection.
func (r *run) receive(f *flow, in surroundings) error {
	s := r.spec
	buf, request := make([]byte, 64<<10), make([]byte, s.request())
	var c net.Conn
	for object := range f.objects {
		if object > 0 && s.Work.Shape != Stream && !in.pause(f.pause(object)) {
			return nil
		}
		if c == nil || s.Work.Shape == Web {
			if s.Work.Shape == Web {
				f.conn.Store(int32(object))
				in.start(f, object)
			}
			var err error
			if c, err = in.dial(s.port(f.index, int(f.conn.Load()))); err != nil {
				return err
			}
		}
		in.reading(c)
		switch s.Work.Shape {
		case Answers, Web:
			in.start(f, object)
			if _, err := c.Write(request); err != nil {
				return err
			}
		case Tail:
			if object > 0 {
				in.push(f, object)
			}
		}
		for left := s.Work.Bytes; left > 0; {
			n, err := c.Read(buf[:min(left, uint64(len(buf)))])
			if err != nil {
				return err
			}
			left -= uint64(n)
			in.reading(c)
		}
		in.end(f)
		if s.Work.Shape == Web {
			_ = c.Close()
		}
	}
	return nil
}

// duplex is a connection whose directions close separately.
type duplex interface {
	net.Conn
	CloseWrite() error
}

// answer is the sender's program of a connection with requests. It ignores errors: the receiver
// meets them too.
func (s *Spec) answer(c duplex) {
	request := make([]byte, s.request())
	for {
		if _, err := io.ReadFull(c, request); err != nil || s.write(c) != nil {
			return
		}
		if s.Work.Shape == Web {
			_ = c.CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
			return
		}
	}
}

// writeStream writes the objects of a Stream. It ends with the connection.
func (s *Spec) writeStream(c io.Writer, f *flow, in surroundings) {
	for object := range f.objects {
		if object > 0 && !in.pause(f.pause(object)) {
			return
		}
		in.start(f, object)
		if s.write(c) != nil {
			return
		}
	}
}

// write writes an object.
func (s *Spec) write(c io.Writer) error {
	b := make([]byte, min(s.Work.Bytes, 1<<20))
	for left := s.Work.Bytes; left > 0; {
		n, err := c.Write(b[:min(left, uint64(len(b)))])
		if err != nil {
			return err
		}
		left -= uint64(n)
	}
	return nil
}
