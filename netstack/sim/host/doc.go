// Package host puts hosts with TCP engines into the virtual network of package sim: nodes that turn what an engine sends into
// datagrams and what arrives into its input, keep one timer at the engine's next timeout, and serve applications.
//
// # Usage
//
//	w, err := host.NewWorld(sim.Config{Seed: 1})
//	a, err := w.NewHost(netip.MustParseAddr("10.0.0.1"), cfg) // a tcp.EngineConfig
//	b, err := w.NewHost(netip.MustParseAddr("10.0.0.2"), cfg)
//	there, back, err := w.Join("a", a, "b", b, link, link)
//	err = b.Listen(80, tcp.ListenConfig{Backlog: 16}, func() host.App { return &host.Sink{} })
//	session, err := a.Dial(b, 80, nil, &host.Bulk{Octets: 1 << 20, Finish: true})
//	w.Net.Run(10 * second)
//
// A Plan is a whole scenario as data, JSON too, and Flows what runs it.
//
// # Files
//
// Begin with host.go, a node with an engine, and session.go, a connection as its application has it. app.go, readers.go and writers.go are
// applications; world.go is the network with its hosts; plan.go and flows.go are a whole scenario of bulk flows; octets.go, spans.go and
// hasher.go check what arrives.
//
// # Octets
//
// Nothing here holds payload. A datagram says where in its sender's stream its octets begin; the receiver compares that
// with where its engine has put them. So it is checked at each arrival that octets come to stand where they belong, and,
// where World.Verify is set, that each becomes readable once and in order. Where octets are wanted, as in captures, they
// are Octet of their place in the stream.
//
// # Applications
//
// An App is told of events and acts on its Session. It is state that is resumed by events and timers; there is
// no goroutine. Bulk, OnOff, Sink, Requests, Responder and Closer are parts that Apps puts together.
//
// # Cost
//
// A segment costs no allocation, and no pointer: the body of a datagram is a value that the collector does not look at.
//
// # Concurrency
//
// Nothing here is safe for concurrent use. What runs within one World is determined by its seed and its plan.
package host
