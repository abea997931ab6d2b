package lanes

import (
	"encoding/binary"
	"io"
	"net"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/wheel"
)

// Ports of the server.
const (
	webPort    = 80
	bulkPort   = 81
	reportPort = 82
	idlePort   = 83
)

// webPort0 is the client's port of the first connection of the web-like load.
const webPort0 = 40000

const (
	webConns      = 4
	webThink      = 250 * time.Millisecond // mean pause between requests of a connection
	reportEvery   = 90 * time.Millisecond
	reportBytes   = 400
	keepIdle      = 2 * time.Second
	keepInterval  = time.Second
	bulkChunk     = 1 << 15
	bulkPause     = 100 * time.Millisecond // between chunks: a busy flow that leaves room for others
	headerBytes   = 8
	meanResponse  = 9.2 // of the logarithm of a response's bytes: a median of 10 kB
	sigmaResponse = 0.9
	maxResponse   = 200_000
)

// start opens the connections of the load and runs their programs. Local ports are fixed, so that
// flows are the same in all lanes.
func (l *Lane) start() error {
	programs := map[uint16]func(*sockets.Conn){
		webPort: serveWeb, bulkPort: l.serveBulk, reportPort: discard, idlePort: discard,
	}
	for port, serve := range programs {
		listener, err := l.net.Listen(Server, port)
		if err != nil {
			return err
		}
		l.net.Tasks.Go(func() { l.accept(listener, port, serve) })
	}
	for i := range webConns {
		l.dial("web "+itoa(i+1), webPort, uint16(webPort0+i), func(c *sockets.Conn) { l.browse(c, i) })
	}
	l.dial("bulk", bulkPort, 40100, discard)
	l.dial("reports", reportPort, 40200, l.report)
	l.dial("idle", idlePort, 40300, discard)
	return nil
}

// connsTo is how many connections each port gets.
func connsTo(port uint16) int {
	if port == webPort {
		return webConns
	}
	return 1
}

func (l *Lane) accept(listener *sockets.Listener, port uint16, serve func(*sockets.Conn)) {
	defer listener.Close()
	for range connsTo(port) {
		c, err := listener.AcceptTCP()
		if err != nil {
			return
		}
		if l.closed {
			c.Close()
			return
		}
		if port == idlePort {
			c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepInterval, Count: 9})
		}
		l.connectionAt(c.RemoteAddrPort().Port()).ends[Server] = c
		if e, ok := c.Endpoint().(*netstack.Endpoint); ok {
			l.ports[e] = int(c.RemoteAddrPort().Port())
		}
		l.net.Tasks.Go(func() {
			serve(c)
			c.Close()
		})
	}
}

// connectionAt returns the connection of a client's port.
func (l *Lane) connectionAt(port uint16) *connection {
	for _, c := range l.conns {
		if c.port == port {
			return c
		}
	}
	return &connection{}
}

func (l *Lane) dial(name string, port, local uint16, program func(*sockets.Conn)) {
	x := &connection{name: name, port: local}
	l.conns = append(l.conns, x)
	l.net.Tasks.Go(func() {
		c, err := l.net.Dial(Client, local, port)
		if err != nil {
			return
		}
		if l.closed {
			c.Close()
			return
		}
		x.ends[Client] = c
		program(c)
		c.Close()
	})
}

// serveWeb answers requests: 8 bytes that say how many bytes to send.
func serveWeb(c *sockets.Conn) {
	var request [headerBytes]byte
	zeros := make([]byte, maxResponse)
	for {
		if _, err := io.ReadFull(c, request[:]); err != nil {
			return
		}
		n := min(binary.BigEndian.Uint64(request[:]), maxResponse)
		if _, err := c.Write(zeros[:n]); err != nil {
			return
		}
	}
}

// browse requests objects at drawn times. A request whose connection is busy waits, and its time
// counts.
func (l *Lane) browse(c *sockets.Conn, index int) {
	at := l.net.Now()
	answer := make([]byte, maxResponse)
	for {
		next := l.run.plans[index].request(l.asked[index])
		at = at.Add(next.wait)
		n := int(next.end - next.start)
		if wait := at.Sub(l.net.Now()); wait > 0 {
			l.net.Tasks.Sleep(wait)
		}
		l.asked[index]++
		var request [headerBytes]byte
		binary.BigEndian.PutUint64(request[:], uint64(n))
		if _, err := c.Write(request[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(c, answer[:n]); err != nil {
			return
		}
		l.stats.Responses.add(l.net.Now().Sub(at))
		at = max(at, l.net.Now()-wheel.Time(2*time.Second))
	}
}

// serveBulk sends without end.
func (l *Lane) serveBulk(c *sockets.Conn) {
	chunk := make([]byte, bulkChunk)
	for {
		n, err := c.Write(chunk)
		l.stats.BulkBytes += uint64(n)
		if err != nil {
			return
		}
		l.net.Tasks.Sleep(bulkPause)
	}
}

// report sends a small report now and then, which nothing answers: its ACKs are delayed.
func (l *Lane) report(c *sockets.Conn) {
	data := make([]byte, reportBytes)
	for {
		if _, err := c.Write(data); err != nil {
			return
		}
		l.net.Tasks.Sleep(reportEvery)
	}
}

func discard(c *sockets.Conn) { io.Copy(io.Discard, c) }
