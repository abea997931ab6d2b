module tcpwheel

go 1.26.3

require (
	github.com/VictoriaMetrics/metrics v1.45.0 // /metrics of tcpwheel up: package tun/up
	github.com/google/gopacket v1.1.19 // headers that few captures have, packets from and to programs on it, a packet's fields: package pcaps/capture. It stays with GHSA-8mcr-459q-5mx2: decoders see 512 bytes, one header at a time, and panics end there (TestShield)
	github.com/klauspost/compress v1.20.4 // captures that are compressed with gzip or zstd: package pcaps/capture
	github.com/rogpeppe/go-internal v1.16.0 // testscript: the tests of cmd/tcpwheel
	github.com/spf13/cobra v1.10.2 // the command line of cmd/tcpwheel
	github.com/spf13/pflag v1.0.10 // kinds of flags of cmd/tcpwheel. 1.1.0 writes [=true|false] behind each switch in help
	github.com/vishvananda/netlink v1.3.1 // the kernel's addresses, routes and link state: package tun
	go.yaml.in/yaml/v3 v3.0.6 // plans of studies: package experiments/plan
	golang.org/x/net v0.62.0 // nettest, what is asked of a net.Conn: the tests of netstack/sockets
	golang.org/x/sys v0.50.0 // system calls on TUN devices and network namespaces: package tun
	gvisor.dev/gvisor v0.0.0-20260905035102-160fafc42237 // the network stack that package netstack plugs into
	maragu.dev/gomponents v1.2.0 // HTML pages: package pcaps/report
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

require (
	github.com/google/btree v1.1.2 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/exp v0.0.0-20250711185948-6ae5c78190dc // indirect
	golang.org/x/time v0.15.0 // indirect
)
