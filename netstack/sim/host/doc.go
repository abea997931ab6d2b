// Package host puts hosts with TCP engines into the virtual network of package sim. A host turns
// packets of its engine into datagrams and arrivals into its input. It keeps one timer at the
// engine's next timeout and serves applications.
//
// # Usage
//
//	w, err := host.NewWorld(sim.Config{Seed: 1})
//	a, err := w.NewHost(netip.MustParseAddr("10.0.0.1"), cfg) // a tcp.EngineConfig
//	b, err := w.NewHost(netip.MustParseAddr("10.0.0.2"), cfg)
//	there, back, err := w.Join("a", a, "b", b, link, link)
//	err = b.Listen(80, tcp.ListenConfig{Backlog: 16}, func() host.App { return &host.Sink{} })
//	w.Net.Run(10 * second)
//
// A FlowsConfig is a whole scenario of bulk flows; Flows runs it.
//
// # Files
//
// Start with host.go, a node with an engine, and session.go, a connection as its application sees
// it. app.go, readers.go and writers.go are applications. world.go is the network with its hosts.
// flows.go is a scenario of bulk flows. ranges.go checks received data,
// serializer.go writes packets to captures.
//
// # Payload
//
// No payload is stored. A datagram has the position of its payload in the sender's stream. The
// receiver compares it with the position that its engine assigns, for every arrival. With
// World.Verify set it also checks that each byte becomes readable once and in order. Captures need
// bytes: the serializer derives each one from its position.
//
// # Applications
//
// An App receives events and acts on its Session. It is a state machine driven by events and
// timers, without a goroutine. Apps combines parts: Bulk, OnOff, Sink, Requests, Responder and
// Closer.
//
// # Cost
//
// A segment allocates nothing and contains no pointer.
//
// # Concurrency
//
// Nothing here is safe for concurrent use. Seed and plan determine everything that happens in a
// World.
package host
