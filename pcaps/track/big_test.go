package track

import (
	"bufio"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/wheel"
)

var big = flag.String("big", "", "folder for TestBigCaptures")

// TestBigCaptures writes two captures of more than a million packets, made by the simulator at the
// senders, 96 bytes of each packet: bulk.pcap with one connection, conns.pcap with 100,000. Compare
// analyze with tcptrace on them; docs/performance.md has the commands.
func TestBigCaptures(t *testing.T) {
	if *big == "" {
		t.Skip("no folder for the captures: -big DIR")
	}
	link := sim.LinkConfig{Rate: 1e9, Delay: 5 * time.Millisecond, Queue: sim.Limit{Packets: 2000}}
	lossy := link
	lossy.Loss = sim.Losses{sim.Bernoulli{P: 0.0005}}
	for name, plan := range map[string]host.FlowsConfig{
		"bulk.pcap":  {Flows: 1, Bytes: 1 << 30, Link: lossy},
		"conns.pcap": {Flows: 100_000, Bytes: 6000, Stagger: 20 * time.Second, Link: lossy},
	} {
		plan.Duration, plan.Return = time.Hour, &link
		flows, err := host.NewFlows(plan)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(*big, name))
		if err != nil {
			t.Fatal(err)
		}
		tap := &pcapTap{out: bufio.NewWriter(file), world: flows.World}
		tap.header()
		flows.World.Net.Tap(0, tap)
		flows.World.Net.Tap(1, tap)
		for until := wheel.Time(0); flows.Run(until); until = until.Add(time.Second) {
		}
		if err := tap.out.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d packets; %v", name, tap.n, flows.Err())
	}
}

// pcapTap writes the packets that senders hand to their links, and the answers that reach them.
type pcapTap struct {
	out   *bufio.Writer
	world *host.World
	buf   []byte
	n     int
}

func (c *pcapTap) u32(v ...uint32) {
	for _, v := range v {
		c.out.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
}

func (c *pcapTap) header() { c.u32(0xa1b23c4d, 2|4<<16, 0, 0, 96, uint32(pcapng.LinkTypeRaw)) }

// Sent implements sim.Tap.
func (c *pcapTap) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if c.world.Addr(d.From).As4()[1] == 1 {
		c.write(now, d)
	}
}

// Arrived implements sim.Tap.
func (c *pcapTap) Arrived(now wheel.Time, d *host.Datagram) {
	if c.world.Addr(d.From).As4()[1] != 1 {
		c.write(now, d)
	}
}

func (c *pcapTap) write(now wheel.Time, d *host.Datagram) {
	c.n++
	c.buf = c.world.Serializer().Serialize(c.buf[:0], d)
	kept := c.buf[:min(len(c.buf), 96)]
	c.u32(uint32(1_700_000_000+now/1e9), uint32(now%1e9), uint32(len(kept)), max(d.Size, uint32(len(c.buf))))
	c.out.Write(kept)
}
