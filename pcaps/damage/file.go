package damage

import (
	"fmt"
	"io"
	"strings"

	"tcpwheel/internal/pcapng"
	"tcpwheel/pcaps/capture"
)

// File is a capture file as a Source.
type File struct {
	r       *capture.Reader
	packets int64
	number  int64
	guess   headers
}

// NewFile reads the packets of a capture. packets is how many there are, -1 if that is not known.
func NewFile(r *capture.Reader, packets int64) *File { return &File{r: r, packets: packets} }

// Next implements Source.
func (f *File) Next() (*Packet, error) {
	frame, segment, err := f.r.NextFrame()
	if err != nil {
		return nil, err
	}
	f.number++
	p := newPacket(&frame, segment, f.number, f.guess)
	if p.at.known() {
		f.guess = p.at
	}
	return p, nil
}

// Total implements Source.
func (f *File) Total() int64 { return f.packets }

// Load reads all packets of a capture into memory. With an error it returns those before.
func Load(r *capture.Reader) (all Packets, err error) {
	f := NewFile(r, -1)
	for {
		p, err := f.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
}

// Packets are the packets of a capture in memory.
type Packets []*Packet

// Source returns a source of the packets.
func (p Packets) Source() Source { return &memory{all: p, n: int64(len(p))} }

// memory is a Source.
type memory struct {
	all Packets
	n   int64
}

func (m *memory) Next() (*Packet, error) {
	if len(m.all) == 0 {
		return nil, io.EOF
	}
	p := m.all[0]
	m.all = m.all[1:]
	return p, nil
}

func (m *memory) Total() int64 { return m.n }

// Writer writes packets as pcapng, with the interfaces of the capture that they are from.
type Writer struct {
	out        *pcapng.Writer
	interfaces func() []capture.Interface
	written    int
	comments   bool
}

// NewWriter writes to w packets of a capture with those interfaces: Reader.Interfaces. With
// comments each packet says which packets it was made from.
func NewWriter(w io.Writer, interfaces func() []capture.Interface, comments bool) (*Writer, error) {
	out, err := pcapng.NewWriter(w, "tcpwheel")
	return &Writer{out: out, interfaces: interfaces, comments: comments}, err
}

// Write writes a packet. It is a Sink.
func (w *Writer) Write(p *Packet) error {
	if p.Interface >= w.written {
		all := w.interfaces()
		for ; w.written <= p.Interface; w.written++ {
			if _, err := w.out.AddInterface(all[w.written].Name, all[w.written].LinkType); err != nil {
				return err
			}
		}
	}
	comment := ""
	if w.comments {
		comment = p.origin()
	}
	direction := [...]pcapng.Direction{capture.Unknown: pcapng.NoDirection, capture.Inbound: pcapng.Inbound, capture.Outbound: pcapng.Outbound}[p.Direction]
	return w.out.WriteDirected(uint32(p.Interface), p.Time, direction, p.Data, p.Length, comment)
}

// origin says in words which packets the packet was made from.
func (p *Packet) origin() string {
	if p.Number == 0 {
		return "added"
	}
	var b strings.Builder
	if p.Added {
		b.WriteString("added, from ")
	}
	fmt.Fprintf(&b, "packet %d", p.Number)
	for _, n := range p.More {
		fmt.Fprintf(&b, ", %d", n)
	}
	return b.String()
}
