module tcpwheel/wheel/peers

go 1.26.3

replace tcpwheel => ../..

require (
	github.com/RussellLuo/timingwheel v0.0.0-20220218152713-54845bda3108 // a peer
	github.com/antlabs/timer v0.1.4 // a peer
	tcpwheel v0.0.0-00010101000000-000000000000 // what they are compared with
)

require github.com/antlabs/stl v0.0.2 // indirect
