package up

// Running is a Host that Run runs.
type Running interface {
	String() string // describes the host in one line
	Status() Status
}

// Status summarises a Host. Bytes and retransmissions only grow.
type Status struct {
	ToStack         uint64 // bytes of packets from the kernel
	FromStack       uint64
	Retransmissions uint64 // segments

	Connections int
	Timers      int // armed for connections; -1 if the TCP does not say
}
