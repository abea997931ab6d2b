package capture_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/google/gopacket/pcapgo"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// A source of gopacket feeds the tracker. Here it is a file; a live handle of gopacket's pcap,
// afpacket or pcapgo takes the same place, and Next then returns segments as they come.
func ExampleNewPacketReader() {
	in, err := samples.Open("tail-one/a.pcapng.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	plain, err := gzip.NewReader(in)
	if err != nil {
		log.Fatal(err)
	}
	source, err := pcapgo.NewNgReader(plain, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		log.Fatal(err)
	}

	r := capture.NewPacketReader(source, uint16(source.LinkType()), "tail-one")
	tracker := track.New(track.Config{Done: func(c *track.Conn) {
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				fmt.Printf("%v to %v: a loss repaired by %v after %v\n", c.Flows[i].Src, c.Flows[i].Dst, e.Kind, e.D.Round(time.Millisecond))
			}
		}
	}})
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		tracker.Add(p)
	}
	tracker.Close()
	// Output:
	// 10.77.1.1:44048 to 10.77.2.1:24598: a loss repaired by rto after 246ms
	// 10.77.1.1:44048 to 10.77.2.1:24598: a loss repaired by rto after 249ms
}
