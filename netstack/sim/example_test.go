package sim_test

import (
	"fmt"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// printer is a node that prints what arrives.
type printer struct{}

func (printer) Receive(now wheel.Time, _ sim.LinkID, d *sim.Datagram[string]) {
	fmt.Println(now, d.Body)
}

// A network of two nodes, whose link delays packets and loses some of them.
func ExampleNetwork() {
	net, err := sim.NewNetwork[string](sim.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := net.AddNode("a", printer{})
	b, _ := net.AddNode("b", printer{})
	lossy := sim.LinkConfig{Rate: 8_000_000, Delay: 10 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.3}}}
	there, _, err := net.Connect(a, b, lossy, lossy)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{"one", "two", "three", "four", "five"} {
		fate := net.Send(there, &sim.Datagram[string]{Packet: sim.Packet{Size: 1000}, From: a, To: b, Body: body})
		if fate.Outcome == sim.Lost {
			fmt.Println(body, "is lost")
		}
	}
	net.Run(wheel.Time(time.Second))
	// Output:
	// one is lost
	// 12ms two
	// 13ms three
	// 14ms four
	// 15ms five
}

// A link alone needs no network and no clock: Send returns each packet's fate.
func ExampleLink() {
	cfg, err := sim.ParseLinkConfig([]byte(`{"rate": "12Mbit", "delay": "10ms", "queue": 1, "loss": "packets:2"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	link, err := sim.NewLink(cfg, sim.LinkKey(1, "a>b"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		fate := link.Send(0, &sim.Packet{Size: 1500})
		fmt.Println(fate.Outcome, fate.At)
	}
	fmt.Println(link.Send(wheel.Time(time.Second), &sim.Packet{Size: 1500}).At)
	// Output:
	// delivered 11ms
	// loss 0s
	// queue 0s
	// 1.011s
}

// Flags set fields by their JSON names.
func ExampleLinkConfig_Set() {
	var cfg sim.LinkConfig
	for _, field := range [][2]string{{"delay", "25ms"}, {"rate", "100Mbit"}, {"loss", "2%"}, {"jitter", "5"}} {
		if err := cfg.Set(field[0], field[1]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(cfg.Delay, cfg.Rate, cfg.Loss)
	// Output:
	// jitter "5", want a duration such as 20ms, 0s to 24h
	// 25ms 100000000 bernoulli:0.02
}
