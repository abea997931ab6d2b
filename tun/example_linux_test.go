package tun_test

import (
	"fmt"
	"log"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// A stack behind a device. It needs root, so it is compiled and not run.
func ExampleOpen() {
	dev, err := tun.Open("wheel0", tun.Options{})
	if err != nil {
		log.Fatal(err) // the error says what to do
	}
	defer dev.Close()
	if err := dev.AddAddress(netip.MustParsePrefix("10.7.0.1/24")); err != nil {
		log.Fatal(err)
	}
	if err := dev.Up(); err != nil {
		log.Fatal(err)
	}
	s := stack.New(stack.Options{NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol}})
	if err := s.CreateNIC(1, dev.Endpoint()); err != nil {
		log.Fatal(err)
	}
	address := tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4([4]byte{10, 7, 0, 2}), PrefixLen: 24}
	s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: address},
		stack.AddressProperties{})
	<-dev.Done() // the device was deleted
	fmt.Println(dev.Err())
}

// A link of 20 Mbit/s and 25 ms each way between the kernel and a stack.
func ExampleImpair() {
	dev, err := tun.Open("wheel0", tun.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	clock, err := wheel.Start(wheel.RealtimeConfig{Tick: 50 * time.Microsecond})
	if err != nil {
		log.Fatal(err)
	}
	defer clock.Close()
	path := sim.LinkConfig{Rate: 20e6, Delay: 25 * time.Millisecond, Queue: sim.Limit{Packets: 100}}
	link, err := tun.Impair(dev.Endpoint(), tun.LinkOptions{There: path, Back: path, Seed: 1, Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	s := stack.New(stack.Options{NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol}})
	if err := s.CreateNIC(1, link); err != nil {
		log.Fatal(err)
	}
	fmt.Println(link.Counts()[tun.There].Lost)
}

// The TCPs of two kernels, in two namespaces, over a link that loses packets.
func ExampleJoin() {
	clock, err := wheel.Start(wheel.RealtimeConfig{Tick: 50 * time.Microsecond})
	if err != nil {
		log.Fatal(err)
	}
	defer clock.Close()
	a, err := tun.Open("cable0", tun.Options{Netns: "left"})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := tun.Open("cable0", tun.Options{Netns: "right"})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	lossy := sim.LinkConfig{Delay: 10 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.01}}}
	j, err := tun.Join(a.Endpoint(), b.Endpoint(), tun.LinkOptions{There: lossy, Back: lossy, Clock: clock})
	if err != nil {
		log.Fatal(err)
	}
	defer j.Close()
}
