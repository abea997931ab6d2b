package track_test

import (
	"fmt"
	"io"
	"log"
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/track"
)

// A sample captured between two Linux kernels loses the last segment of two answers.
func Example() {
	in, err := samples.Open("tail-one/a.pcapng.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	r, err := capture.NewReader(in, "tail-one")
	if err != nil {
		log.Fatal(err)
	}
	tr := track.New(track.Config{Done: func(c *track.Conn) {
		for i := range c.Flows {
			for _, e := range c.Flows[i].Episodes {
				fmt.Printf("%v: D %v + A %v + P %v = %v\n", e.Kind, e.D.Round(time.Millisecond), e.A.Round(time.Millisecond),
					e.P.Round(time.Millisecond), e.TRec.Round(time.Millisecond))
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
		tr.Add(p)
	}
	tr.Close()
	// Output:
	// rto: D 246ms + A 0s + P 20ms = 267ms
	// rto: D 249ms + A 0s + P 20ms = 270ms
}
