package up

// Running is a Host that Run runs.
type Running interface {
	String() string // tells in one line what is where
	Status() Status
}

// Status is what a Host is at, in few figures. The first ones only grow.
type Status struct {
	ToStack   uint64 // octets of packets from the kernel
	FromStack uint64
	Rexmits   uint64 // segments sent again

	Connections int
	Timers      int // that run for connections; -1 if the TCP does not tell
}
