package sockets_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/virtual"
)

// A client and a server in virtual time, over a link of 50 ms. Every event happens at its exact
// time. The program is written as for a kernel's sockets.
func ExampleTasks() {
	link := sim.LinkConfig{Delay: 50 * time.Millisecond}
	n, err := virtual.New(virtual.Config{Link: [2]sim.LinkConfig{link, link}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer n.Close()
	say := func(format string, args ...any) {
		fmt.Printf("%-6v ", time.Duration(n.Now()))
		fmt.Printf(format+"\n", args...)
	}
	n.Tasks.Go(func() {
		l, err := n.Listen(1, 80)
		if err != nil {
			say("%v", err)
			return
		}
		defer l.Close()
		c, _ := l.Accept()
		defer c.Close()
		say("server: accepted")
		n.Tasks.Sleep(time.Second)
		io.WriteString(c, "hello")
	})
	n.Tasks.Go(func() {
		c, err := n.Dial(0, 0, 80)
		if err != nil {
			say("%v", err)
			return
		}
		defer c.Close()
		say("client: connected")
		c.SetReadDeadline(n.Clock.Now().Add(700 * time.Millisecond))
		_, err = c.Read(make([]byte, 100))
		say("client: timeout %v", errors.Is(err, os.ErrDeadlineExceeded))
		c.SetReadDeadline(time.Time{})
		b, err := io.ReadAll(c)
		say("client: %q, %v", b, err)
	})
	n.Run(10*time.Second, nil)
	// Output:
	// 100ms  client: connected
	// 150ms  server: accepted
	// 800ms  client: timeout true
	// 1.2s   client: "hello", <nil>
}
