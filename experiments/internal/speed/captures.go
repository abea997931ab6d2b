package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/track"
)

// captures times reading and following the packets of made-up captures, next to a reader that only
// walks over the records and to one that only decodes them. Writing a report is not timed.
func captures(ctx context.Context, quick bool) (all result, err error) {
	sizes := []int{1e3, 1e4, 1e5, 1e6, inMemory, 10 * inMemory}
	if quick {
		sizes = sizes[:4]
	}
	series := []figure.Series{{Name: "read, decode and follow"}, {Name: "read and decode"},
		{Name: "limit: walk over the records", Dashed: true}}
	var file []byte
	for _, n := range sizes {
		src, turns := &repeats{times: max(1, n/inMemory)}, max(3, min(100, 3_000_000/n))
		if n > inMemory { // the last file again
			turns = 1
		} else {
			file = makeCapture(n)
		}
		src.file = file
		var failed error
		timed := func(read func(io.Reader) error) func() time.Duration {
			return func() time.Duration {
				src.rewind()
				if err := read(src); err != nil {
					failed = err
				}
				return src.changing
			}
		}
		ns := leastWithout(ctx, turns, float64(n), timed(follow), timed(decode), timed(walk))
		if failed != nil {
			return all, failed
		}
		for i := range series {
			series[i].Kind = figure.Line
			series[i].Add(float64(n), ns[i])
		}
		if n != 1e4 && n != 1e6 {
			continue
		}
		work := fmt.Sprintf("captures, %d packets", n)
		tcptrace := traceTime(ctx, file) / float64(n)
		all.rows = append(all.rows,
			row{Work: work, Unit: "ns a packet", Ours: ns[0], Peer: tcptrace, BestPeer: "tcptrace, whole process", Limit: ns[1],
				LimitIs: "only decoded"},
			row{Work: work + ", decoded", Unit: "ns a packet", Ours: ns[1], Limit: ns[2], LimitIs: "only walked"})
	}
	all.figures = append(all.figures, figure.Figure{Name: "speed-captures", Title: "Time of a captured packet by the " +
		"size of the capture",
		X: figure.Axis{Label: "packets", Log: true}, Y: figure.Axis{Label: "ns per packet", Log: true}, Series: series})
	return all, nil
}

func follow(file io.Reader) error {
	r, err := capture.NewReader(file, "made up")
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err = track.FollowShares(track.Config{}, []*capture.Reader{r}); err == io.EOF {
		return nil
	}
	return err
}

func decode(file io.Reader) error {
	r, err := capture.NewReader(file, "made up")
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		if _, err := r.NextBatch(64); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// walk reads the headers of the records and skips their bytes.
func walk(file io.Reader) error {
	r := bufio.NewReaderSize(file, 256<<10)
	if _, err := r.Discard(fileHeader); err != nil {
		return err
	}
	for {
		head, err := r.Peek(16)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := r.Discard(16 + int(binary.LittleEndian.Uint32(head[8:]))); err != nil {
			return err
		}
	}
}

// traceTime returns the processor time of tcptrace for the capture, the least of five, in ns: 0
// without the program.
func traceTime(ctx context.Context, file []byte) (ns float64) {
	program, err := exec.LookPath("tcptrace")
	if err != nil {
		return 0
	}
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return 0
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "made-up.pcap")
	if os.WriteFile(name, file, 0o666) != nil {
		return 0
	}
	for range 5 {
		cmd := exec.CommandContext(ctx, program, "-l", "-r", name)
		if cmd.Run() != nil {
			return 0
		}
		if took := float64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()); ns == 0 || took < ns {
			ns = took
		}
	}
	return ns
}

// inMemory is the most packets of a capture that is in memory whole. It takes 820 MB.
const inMemory = 10_000_000

// repeats reads a made-up capture several times, as one. Each time it has other connections, and
// later times. How long their changing took is no part of reading.
type repeats struct {
	file     []byte
	times    int
	at       int // the next byte
	turn     int // how often file was read
	changing time.Duration
}

// rewind begins again.
func (r *repeats) rewind() {
	r.changing = 0
	r.change(-r.turn)
	r.at, r.turn = 0, 0
}

func (r *repeats) Read(p []byte) (n int, err error) {
	if r.at == len(r.file) {
		if r.turn+1 == r.times {
			return 0, io.EOF
		}
		r.change(1)
		r.at, r.turn = fileHeader, r.turn+1
	}
	n = copy(p, r.file[r.at:])
	r.at += n
	return n, nil
}

// change makes the packets those of so many readings later: the second byte of the clients'
// addresses and the seconds are greater.
func (r *repeats) change(turns int) {
	if turns == 0 {
		return
	}
	start := time.Now()
	le := binary.LittleEndian
	seconds := uint32(turns * ((len(r.file) - fileHeader) / recordLen * gapMicros / 1e6))
	for at := fileHeader; at < len(r.file); at += recordLen {
		le.PutUint32(r.file[at:], le.Uint32(r.file[at:])+seconds)
		ip := r.file[at+16+14 : at+16+14+20]
		if ip[12] == clients>>24 {
			ip[13] += byte(turns)
		} else {
			ip[17] += byte(turns)
		}
		setChecksum(ip)
	}
	r.changing += time.Since(start)
}

const (
	fileHeader = 24
	recordLen  = 16 + 66
	gapMicros  = 10 // between two packets
	clients    = 0x0a000001
	perConn    = 160 // packets of a connection of a made-up capture
	concurrent = 100 // connections at a time, whose packets alternate
	dataBytes  = 1448
)

// makeCapture returns a pcap file of n packets over Ethernet, without their payload. Connections
// are bulk, with time stamps and an ACK for every second segment.
func makeCapture(n int) []byte {
	le, be := binary.LittleEndian, binary.BigEndian
	file := make([]byte, fileHeader, fileHeader+n*recordLen)
	le.PutUint32(file, 0xa1b2c3d4)
	le.PutUint16(file[4:], 2)
	le.PutUint16(file[6:], 4)
	le.PutUint32(file[16:], 66)
	le.PutUint32(file[20:], 1) // Ethernet
	var record [recordLen]byte
	le.PutUint32(record[8:], 66)
	eth := record[16:]
	be.PutUint16(eth[12:], 0x0800)
	ip := eth[14:]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6})
	tcp := ip[20:]
	copy(tcp[20:], []byte{1, 1, 8, 10})
	for i := range n {
		group, turn := i/(perConn*concurrent), i%(perConn*concurrent)
		conn, step := group*concurrent+turn%concurrent, turn/concurrent
		back, flags, length := step == 1 || step > 2 && step%3 == 2, byte(0x10), 0
		segments := uint32(max(0, step-3-(step-3)/3)) // sent before
		seq, ack := 1+segments*dataBytes, uint32(1)
		switch {
		case step == 0:
			flags, seq, ack = 0x02, 0, 0
		case step == 1:
			flags, seq, ack = 0x12, 0, 1
		case back:
			seq, ack = 1, seq
		case step > 2:
			length = dataBytes
		}
		client, server := uint32(clients), uint32(0xc0a80001)
		from, to, fromPort, toPort := client+uint32(conn>>15), server, uint16(1024+conn&0x7fff), uint16(80)
		if back {
			from, to, fromPort, toPort = to, from, toPort, fromPort
		}
		at := uint64(i) * gapMicros
		le.PutUint32(record[0:], uint32(at/1e6))
		le.PutUint32(record[4:], uint32(at%1e6))
		le.PutUint32(record[12:], uint32(66+length))
		be.PutUint16(ip[2:], uint16(52+length))
		be.PutUint16(ip[4:], uint16(i))
		be.PutUint32(ip[12:], from)
		be.PutUint32(ip[16:], to)
		setChecksum(ip)
		be.PutUint16(tcp[0:], fromPort)
		be.PutUint16(tcp[2:], toPort)
		be.PutUint32(tcp[4:], seq)
		be.PutUint32(tcp[8:], ack)
		tcp[12], tcp[13] = 8<<4, flags
		be.PutUint16(tcp[14:], 65535)
		be.PutUint32(tcp[24:], uint32(at/1000))
		be.PutUint32(tcp[28:], uint32(at/1000))
		file = append(file, record[:]...)
	}
	return file
}

// setChecksum sets the checksum of an IPv4 header without options.
func setChecksum(ip []byte) {
	be := binary.BigEndian
	be.PutUint16(ip[10:], 0)
	sum := uint32(0)
	for k := 0; k < 20; k += 2 {
		sum += uint32(be.Uint16(ip[k:]))
	}
	sum = sum>>16 + sum&0xffff
	be.PutUint16(ip[10:], ^uint16(sum+sum>>16))
}
