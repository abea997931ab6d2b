package programs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"time"
)

// Echo returns what comes on the connections of l, until l is closed.
func Echo(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			io.Copy(c, c)
			if c, ok := c.(interface{ CloseWrite() error }); ok {
				c.CloseWrite()
			}
			c.Close()
		}()
	}
}

// BothWays sends n bytes to an echo and reads them at the same time. The error says how far it came
// within limit.
func BothWays(c net.Conn, n int, limit time.Duration) error {
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(data)
		if c, ok := c.(interface{ CloseWrite() error }); ok && err == nil {
			err = c.CloseWrite()
		}
		sent <- err
	}()
	var got bytes.Buffer
	if _, err := io.Copy(&got, c); err != nil {
		return fmt.Errorf("after %d of %d bytes: %w", got.Len(), n, err)
	}
	if err := <-sent; err != nil {
		return err
	}
	if sha256.Sum256(got.Bytes()) != sha256.Sum256(data) {
		return fmt.Errorf("%d bytes came back, not the %d that were sent", got.Len(), n)
	}
	return nil
}
