module tcpwheel/netstack/programs

go 1.26.3

replace tcpwheel => ../..

require (
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237 // the stack
	tcpwheel v0.0.0-00010101000000-000000000000 // its TCP
)

require (
	github.com/google/btree v1.1.2 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/time v0.15.0 // indirect
)
