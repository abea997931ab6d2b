package up

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/internal/quantity"
	"tcpwheel/netstack"
	"tcpwheel/tun/internal/background"
	"tcpwheel/wheel"
)

// capture writes the packets of a link as pcapng. Senders and receivers copy packets into a queue
// and never wait: packets that do not fit are counted. Multiple goroutines may invoke its methods.
type capture struct {
	name   string // of the file
	now    func() wheel.Time
	epoch  wheel.Time // the zero of now, since 1970
	limits CaptureLimits
	device string
	queue  *background.Queue[capturedPacket]

	// Of the file being written. Only the writer uses them, and close.
	file    *os.File // nil for standard output
	remove  func()   // removes the file
	number  int      // of the file, with limits.Files
	packets uint64   // in the file
	sink    *pcapng.Sink
	out     *pcapng.Writer
	closed  bool

	mu     sync.Mutex
	counts CaptureReport // Dropped: for the file's limits
}

type capturedPacket struct {
	at      wheel.Time
	heading pcapng.Direction
	size    int // bytes
	sum     int // offset where the checksum left to the link begins; 0 is none
	field   int // offset of that checksum
	causes  []netstack.Cause
}

// CaptureReport describes a capture in a Report.
type CaptureReport struct {
	File    string `json:"file"`
	Packets uint64 `json:"packets"` // captured
	Bytes   uint64 `json:"bytes"`
	Dropped uint64 `json:"dropped"` // missing because the file is slower than the link, or full
	Timed   uint64 `json:"timed"`   // of Packets: with a comment on the timer that sent it
}

// captureQueue is how many bytes may wait to be written, besides those being written.
const captureQueue = 32 << 20

// CaptureLimits bound the files of a capture. The zero value of a field is no limit.
type CaptureLimits struct {
	// FileBytes is the size of a file. Beyond it the capture goes on in the next file if Files is set,
	// and else misses packets.
	FileBytes quantity.Size

	// Files is how many files are kept, the newest ones. Their names have a number: up-00001.pcapng.
	Files int

	// Snaplen is how many bytes of each packet are written.
	Snaplen int

	queue int // bytes that may wait, for tests
}

func (l *CaptureLimits) check(file string) error {
	switch {
	case file == "" && *l != CaptureLimits{}:
		return errors.New("limits of a capture without a capture")
	case l.FileBytes != 0 && l.FileBytes < 1<<16:
		return fmt.Errorf("capture files of %d bytes, want at least %d", l.FileBytes, 1<<16)
	case l.Files < 0 || l.Files > 1000:
		return fmt.Errorf("%d capture files, want up to 1000", l.Files)
	case l.Files > 0 && (l.FileBytes == 0 || file == "-"):
		return fmt.Errorf("%d capture files, want a file name and a size for each", l.Files)
	case l.Snaplen < 0 || l.Snaplen > 0 && l.Snaplen < minSnaplen:
		return fmt.Errorf("snaplen %d, want at least %d", l.Snaplen, minSnaplen)
	}
	return nil
}

const minSnaplen = 40 // an IPv4 and a TCP header

// newCapture makes the file, or uses stdout for "-", and starts to write. The interface has the
// name of the device.
func newCapture(file, device string, stdout io.Writer, clock tcpip.Clock, limits CaptureLimits) (*capture, error) {
	now := nowOf(clock)
	c := &capture{
		name: file, now: now, epoch: wheel.Time(clock.Now().UnixNano()) - now(), remove: func() {},
		counts: CaptureReport{File: file}, limits: limits, device: device,
	}
	if file == "-" && stdout == nil {
		return nil, errors.New("capture: no standard output to write to")
	}
	if err := c.open(stdout); err != nil {
		if c.file != nil {
			c.file.Close()
		}
		c.remove()
		return nil, fmt.Errorf("capture: %w", err)
	}
	c.queue = background.Start(cmp.Or(limits.queue, captureQueue), background.Drop, c.run)
	return c, nil
}

// fileName returns the name of a file by its number.
func (c *capture) fileName(number int) string {
	if c.limits.Files == 0 {
		return c.name
	}
	ext := filepath.Ext(c.name)
	return fmt.Sprintf("%s-%05d%s", strings.TrimSuffix(c.name, ext), number, ext)
}

// open makes the next file, or begins on stdout.
func (c *capture) open(stdout io.Writer) (err error) {
	to := stdout
	if c.name != "-" {
		c.number++
		name := c.fileName(c.number)
		if c.file, err = os.Create(name); err != nil {
			return err
		}
		to = c.file
		if info, err := c.file.Stat(); err == nil && info.Mode().IsRegular() {
			c.remove = func() { os.Remove(name) }
		}
	}
	c.sink, c.packets = pcapng.NewSink(to), 0
	if c.out, err = pcapng.NewFile(c.sink, "tcpwheel", c.device, pcapng.LinkTypeRaw); err == nil {
		err = c.sink.Flush()
	}
	return err
}

// rotate ends the file, begins the next one, and removes the oldest.
func (c *capture) rotate() error {
	if err := errors.Join(c.writeStatistics(), c.file.Close()); err != nil {
		return err
	}
	if err := c.open(nil); err != nil {
		return err
	}
	if old := c.number - c.limits.Files; old > 0 {
		return os.Remove(c.fileName(old))
	}
	return nil
}

// isFull reports whether a packet does not fit the file any more.
func (c *capture) isFull(size int) bool {
	const overhead = 256 // of a block and its comment
	most := c.limits.FileBytes
	return most > 0 && c.packets > 0 && uint64(c.sink.Len())+uint64(size+overhead) > uint64(most)
}

// add captures a packet.
func (c *capture) add(pkt *stack.PacketBuffer, heading pcapng.Direction) {
	size := pkt.Size()
	p := capturedPacket{heading: heading, size: size}
	if g := &pkt.GSOOptions; g.Type != stack.GSONone && g.NeedsCsum {
		p.sum, p.field = int(g.L3HdrLen), int(g.L3HdrLen)+int(g.CsumOffset)
	}
	if heading == pcapng.Outbound {
		p.causes = netstack.Causes(pkt)
	}
	c.queue.Add(size, func(b *background.Batch[capturedPacket]) {
		p.at = c.now()
		b.Items, b.Data = append(b.Items, p), background.AppendPacket(b.Data, pkt)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts.Packets++
		c.counts.Bytes += uint64(size)
		if len(p.causes) > 0 {
			c.counts.Timed++
		}
	})
}

// run writes the queue until its end.
func (c *capture) run(q *background.Queue[capturedPacket]) {
	for err := error(nil); q.Next(); {
		batch := q.Take()
		if err == nil {
			err = c.write(&batch)
		}
		if err == nil {
			err = c.sink.Flush()
		}
		if err != nil {
			q.Fail(err)
		}
		q.Recycle(batch)
	}
}

// writeStatistics ends a file.
func (c *capture) writeStatistics() error {
	dropped := c.report().Dropped
	if err := c.out.WriteStatistics(0, c.epoch+c.now(), c.packets+dropped, dropped); err != nil {
		return err
	}
	return c.sink.Flush()
}

// write writes the packets.
func (c *capture) write(batch *background.Batch[capturedPacket]) error {
	rest := batch.Data
	for i := range batch.Items {
		p := &batch.Items[i]
		b := rest[:p.size]
		rest = rest[p.size:]
		if p.sum > 0 && p.field+2 <= len(b) {
			// The field holds the sum of the pseudo-header.
			checksum.Put(b[p.field:], ^checksum.Checksum(b[p.sum:], 0))
		}
		if n := c.limits.Snaplen; n > 0 && n < len(b) {
			b = b[:n]
		}
		if c.isFull(len(b)) {
			if c.limits.Files == 0 {
				c.miss()
				continue
			}
			if err := c.rotate(); err != nil {
				return err
			}
		}
		if err := c.out.WriteDirected(0, c.epoch+p.at, p.heading, b, uint32(p.size), netstack.DescribeCauses(p.at, p.causes)); err != nil {
			return err
		}
		c.packets++
	}
	return nil
}

// miss counts a captured packet as dropped: the file is full.
func (c *capture) miss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts.Packets--
	c.counts.Dropped++
}

// report returns the counts.
func (c *capture) report() CaptureReport {
	dropped := c.queue.Dropped()
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.counts
	r.Dropped += dropped
	return r
}

// close writes the rest of the queue and ends. It returns the first write error. A second call does
// nothing.
func (c *capture) close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	err := c.queue.Close()
	if err == nil {
		err = c.writeStatistics()
	}
	if c.file != nil {
		err = errors.Join(err, c.file.Close())
	}
	if err != nil {
		err = fmt.Errorf("capture: %w", err)
	}
	return err
}

// tapped is a link endpoint that shows packets to taps: outgoing ones just before the link below
// gets them, incoming ones just before the stack does.
type tapped struct {
	nested.Endpoint
	taps []linkTap
}

// linkTap sees the packets of a tapped. It must not keep them.
type linkTap interface {
	add(pkt *stack.PacketBuffer, d pcapng.Direction)
}

var (
	_ stack.LinkEndpoint = (*tapped)(nil)
	_ stack.GSOEndpoint  = (*tapped)(nil)
)

func newTapped(link stack.LinkEndpoint, taps ...linkTap) *tapped {
	t := &tapped{taps: taps}
	t.Endpoint.Init(link, t)
	return t
}

// WritePackets implements stack.LinkWriter.
func (t *tapped) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		t.show(pkt, pcapng.Outbound)
	}
	return t.Endpoint.WritePackets(pkts)
}

// DeliverNetworkPacket implements stack.NetworkDispatcher, for the link below.
func (t *tapped) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	t.show(pkt, pcapng.Inbound)
	t.Endpoint.DeliverNetworkPacket(protocol, pkt)
}

func (t *tapped) show(pkt *stack.PacketBuffer, d pcapng.Direction) {
	for _, tap := range t.taps {
		tap.add(pkt, d)
	}
}
