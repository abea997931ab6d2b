package lanes

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/wheel"
)

// Ports of the server.
const (
	webPort    = 80
	reportPort = 82
	idlePort   = 83
)

// webPort0 is the client's port of the first connection of the web-like load.
const webPort0 = 40000

const (
	webConns      = 4
	webThink      = 150 * time.Millisecond // mean pause between requests of a connection, over leastThink
	leastThink    = 2 * gateEvery
	reportEvery   = 90 * time.Millisecond
	reportBytes   = 400
	keepIdle      = 2 * time.Second
	keepInterval  = time.Second
	headerBytes   = 8
	meanResponse  = 9.2 // of the logarithm of a response's bytes: a median of 10 kB
	sigmaResponse = 0.9
	maxResponse   = 200_000
)

// start opens the connections of the load and runs their programs. Local ports are fixed, so that
// flows are the same in all lanes.
func (l *Lane) start() error {
	programs := map[uint16]func(*sockets.Conn){
		webPort: serveWeb, reportPort: discard, idlePort: discard,
	}
	for port, serve := range programs {
		listener, err := l.net.Listen(Server, port)
		if err != nil {
			return err
		}
		l.net.Tasks.Go(func() { l.accept(listener, port, serve) })
	}
	for i := range webConns {
		l.dial("web "+strconv.Itoa(i+1), webPort, uint16(webPort0+i), func(c *sockets.Conn) { l.browse(c, i) })
	}
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

// browse requests objects when the run says so: all lanes begin a request at the same time, when the
// slowest has the answer of the one before.
func (l *Lane) browse(c *sockets.Conn, index int) {
	answer := make([]byte, maxResponse)
	for n := 0; ; n++ {
		at, ok := l.run.due(index, n)
		for ; !ok; at, ok = l.run.due(index, n) {
			if l.closed {
				return
			}
			now := l.net.Now()
			l.net.Tasks.Sleep((now + gateEvery - now%gateEvery).Sub(now))
		}
		if wait := at.Sub(l.net.Now()); wait > 0 {
			l.net.Tasks.Sleep(wait)
		}
		next := l.run.plans[index].request(n)
		l.asked[index]++
		var request [headerBytes]byte
		binary.BigEndian.PutUint64(request[:], next.end-next.start)
		if _, err := c.Write(request[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(c, answer[:next.end-next.start]); err != nil {
			return
		}
		l.done[index]++
		l.stats.Responses.add(l.net.Now().Sub(at))
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

// webRequest is a request of the web-like load. It is the same in all lanes.
type webRequest struct {
	wait       time.Duration // after the response before, in all lanes
	start, end uint64        // the bytes of its response in the server's stream
}

// webPlan draws the requests of a connection, each once for all lanes.
type webPlan struct {
	rng *rand.Rand
	all []webRequest
	due []wheel.Time // of the requests that may begin
}

func newWebPlan(seed, index uint64) *webPlan {
	return &webPlan{rng: rand.New(rand.NewPCG(seed, 1000+index))}
}

// request returns request i, counted from 0.
func (p *webPlan) request(i int) webRequest {
	for len(p.all) <= i {
		var last webRequest
		if n := len(p.all); n > 0 {
			last = p.all[n-1]
		}
		wait := time.Duration(leastThink) + time.Duration(p.rng.ExpFloat64()*float64(webThink))
		size := uint64(min(math.Exp(meanResponse+sigmaResponse*p.rng.NormFloat64()), maxResponse))
		p.all = append(p.all, webRequest{wait: wait, start: last.end, end: last.end + size})
	}
	return p.all[i]
}
