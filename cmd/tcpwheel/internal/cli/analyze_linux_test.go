package cli

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// trafficRole is the environment variable that makes the test binary an end of TestFollowTcpdump.
const trafficRole = "TCPWHEEL_TRAFFIC"

// TestTrafficHelper is the ends of TestFollowTcpdump: a sink, and a source of long and short
// streams.
func TestTrafficHelper(t *testing.T) {
	switch os.Getenv(trafficRole) {
	case "sink":
		l, err := net.Listen("tcp", "10.9.0.2:5000")
		if err != nil {
			t.Fatal(err)
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(io.Discard, c) // the source reports broken streams
			}()
		}
	case "source":
		end := time.Now().Add(4 * time.Second)
		var all sync.WaitGroup
		for _, s := range []struct {
			bytes int
			pause time.Duration
		}{{300_000, 0}, {900, 260 * time.Millisecond}, {900, 270 * time.Millisecond}, {5000, 400 * time.Millisecond}, {20_000, 500 * time.Millisecond}} {
			all.Go(func() {
				for time.Now().Before(end) {
					if err := stream(s.bytes, s.pause, end); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	default:
		t.Skip("it is only for TestFollowTcpdump")
	}
}

// stream writes over a connection: once, or repeatedly with pauses until the end.
func stream(bytes int, pause time.Duration, end time.Time) error {
	var c net.Conn
	var err error
	for range 50 { // the sink may not listen yet
		if c, err = net.Dial("tcp", "10.9.0.2:5000"); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		if _, err := c.Write(make([]byte, bytes)); err != nil {
			return err
		}
		if pause == 0 || !time.Now().Add(pause).Before(end) {
			break
		}
		time.Sleep(pause)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
