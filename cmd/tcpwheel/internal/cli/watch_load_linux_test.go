package cli

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Environment variables that make the test binary an end of TestWatchLoad: packets per second and
// seconds to send, or the arguments of the command.
const (
	loadRate = "TCPWHEEL_LOAD_RATE"
	loadSpan = "TCPWHEEL_LOAD_SECONDS"
	loadArgs = "TCPWHEEL_LOAD_ARGS"
)

// TestLoadHelper sends the packets of short connections with losses to the loopback device, or runs
// the command and prints the time and the memory that it took.
func TestLoadHelper(t *testing.T) {
	if args := os.Getenv(loadArgs); args != "" {
		status := run(strings.Fields(args), os.Stdin, os.Stdout, os.Stderr)
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("used %.3f s user, %.3f s system, %d kB at most\n", seconds(used.Utime), seconds(used.Stime), used.Maxrss)
		if status != exitOK {
			t.Fatalf("status %d", status)
		}
		return
	}
	rate, err := strconv.Atoi(os.Getenv(loadRate))
	if err != nil {
		t.Skip("it is only for TestWatchLoad")
	}
	span, err := strconv.Atoi(os.Getenv(loadSpan))
	if err != nil {
		t.Fatal(err)
	}
	if err := sendLoad(rate, time.Duration(span)*time.Second); err != nil {
		t.Fatal(err)
	}
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// sendLoad sends at a rate and prints how many packets it sent, and how fast.
func sendLoad(rate int, span time.Duration) error {
	send, err := sendToLoopback()
	if err != nil {
		return err
	}
	load := &load{rng: rand.New(rand.NewPCG(1, 2))}
	began, sent := time.Now(), 0
	for d := time.Duration(0); d < span; d = time.Since(began) {
		for due := int(d.Seconds() * float64(rate)); sent < due; sent++ {
			if err := send(load.next()); err != nil {
				return err
			}
			if sent%256 == 0 && time.Since(began) >= span {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	fmt.Printf("sent %d packets, %.0f a second, %d losses, %d connections\n", sent, float64(sent)/took.Seconds(), load.losses, load.made)
	return nil
}

// sendToLoopback returns a function that sends a frame to the loopback device.
func sendToLoopback() (send func([]byte) error, err error) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := &syscall.SockaddrLinklayer{Protocol: 8, Ifindex: lo.Index}
	return func(frame []byte) error {
		if err := syscall.Sendto(fd, frame, 0, to); !errors.Is(err, syscall.ENOBUFS) {
			return err
		}
		return nil
	}, nil
}

// load makes the packets of 64 connections that take turns. Each sends 20 segments. In one of 20
// connections a segment is lost, and retransmitted after three duplicate ACKs.
type load struct {
	rng          *rand.Rand
	conns        [64]loadConn
	turn         int
	made, losses int
	frame        [14 + 40 + 12 + loadSegment]byte
}

// loadConn is a connection with the packets that it still sends.
type loadConn struct {
	port   uint16
	client byte
	todo   []loadPacket
}

// loadPacket is a packet, or, without flags, a pause. Sequence numbers count from 0.
type loadPacket struct {
	fromClient  bool
	flags       byte
	seq, ack    uint32
	bytes       int
	left, right uint32 // a SACK block, if right is not 0
}

const (
	loadSegment = 200
	finFlag     = 1
	synFlag     = 2
	ackFlag     = 16
)

// loadScripts are the packets of a connection, without and with a loss.
var loadScripts = [2][]loadPacket{loadScript(false), loadScript(true)}

func loadScript(lossy bool) []loadPacket {
	all := []loadPacket{{fromClient: true, flags: synFlag}}
	wait := func() { all = append(all, make([]loadPacket, 4)...) } // a round trip
	wait()
	all = append(all, loadPacket{flags: synFlag | ackFlag, ack: 1}, loadPacket{fromClient: true, flags: ackFlag, seq: 1, ack: 1})
	at := func(segment int) uint32 { return 1 + uint32(segment)*loadSegment }
	send := func(segment int) {
		all = append(all, loadPacket{fromClient: true, flags: ackFlag, seq: at(segment), ack: 1, bytes: loadSegment})
	}
	acknowledge := func(to, left, right int) {
		p := loadPacket{flags: ackFlag, seq: 1, ack: at(to)}
		if right > 0 {
			p.left, p.right = at(left), at(right)
		}
		all = append(all, p)
	}
	for group := range 5 {
		first := 4 * group
		for i := range 4 {
			send(first + i)
		}
		wait()
		if lossy && group == 3 {
			for i := range 3 {
				acknowledge(first, first+1, first+2+i)
			}
			send(first)
			wait()
		}
		acknowledge(first+4, 0, 0)
	}
	return append(all, loadPacket{fromClient: true, flags: ackFlag | finFlag, seq: at(20), ack: 1},
		loadPacket{flags: ackFlag | finFlag, seq: 1, ack: at(20) + 1}, loadPacket{fromClient: true, flags: ackFlag, seq: at(20) + 1, ack: 2})
}

// next returns the next packet of the next connection that does not pause.
func (l *load) next() []byte {
	l.turn = (l.turn + 1) % len(l.conns)
	c := &l.conns[l.turn]
	if len(c.todo) > 0 && c.todo[0].flags == 0 {
		c.todo = c.todo[1:]
		return l.next()
	}
	if len(c.todo) == 0 {
		lossy := 0
		if l.rng.IntN(20) == 0 {
			lossy = 1
		}
		*c = loadConn{uint16(1024 + l.made%60000), byte(1 + l.made/60000%200), loadScripts[lossy]}
		l.made++
		l.losses += lossy
	}
	p := &c.todo[0]
	c.todo = c.todo[1:]
	return l.packet(c, p)
}

// packet returns an Ethernet frame.
func (l *load) packet(c *loadConn, p *loadPacket) []byte {
	options := 0
	if p.right > 0 {
		options = 12
	}
	f := l.frame[:14+40+options+p.bytes]
	clear(f)
	f[12] = 8 // IPv4
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	from, to, fromPort, toPort := [4]byte{10, 99, 1, c.client}, [4]byte{10, 99, 2, 1}, c.port, uint16(443)
	if !p.fromClient {
		from, to, fromPort, toPort = to, from, toPort, fromPort
		ip[8] = 57 // it is seven routers away
	}
	copy(ip[12:], from[:])
	copy(ip[16:], to[:])
	tcp := ip[20:]
	binary.BigEndian.PutUint16(tcp, fromPort)
	binary.BigEndian.PutUint16(tcp[2:], toPort)
	binary.BigEndian.PutUint32(tcp[4:], p.seq)
	binary.BigEndian.PutUint32(tcp[8:], p.ack)
	tcp[12], tcp[13], tcp[14] = byte(5+options/4)<<4, p.flags, 0xff
	if options > 0 {
		tcp[20], tcp[21], tcp[22], tcp[23] = 1, 1, 5, 10
		binary.BigEndian.PutUint32(tcp[24:], p.left)
		binary.BigEndian.PutUint32(tcp[28:], p.right)
	}
	return f
}
