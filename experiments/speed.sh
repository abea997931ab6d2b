#!/bin/sh
# Speed measures how fast this machine runs the project, next to its peers, and prints benchmarks for
# benchstat: experiments/speed.sh > new.txt; benchstat old.txt new.txt. Run it from the root of the
# repository, on a quiet machine; as root also over TUN. RATAS names the compiled benchmark of Ratas
# (C++, https://github.com/jsnell/ratas), and tcptrace is compared if it is installed.
set -e
count=${COUNT:-10} # runs of each benchmark

# Timers, next to the runtime's, a heap and the libraries of wheel/peers.
go -C wheel/peers test -run '^$' -bench '.*/.*/n=1000000$' -benchtime 300ms -count "$count" .
# Ratas' mix. The C++ original prints its seconds for each number of pairs.
go test ./wheel/wheelbench -run '^$' -bench 'Ratas$/impl=(of|scheme6|scheme7-lazy)$/units=1024$' -benchtime 1x -count 3
[ -z "$RATAS" ] || "$RATAS" >&2
# The engine in virtual time: a timer for each segment, and one timer.
go test ./netstack/sim/host -run '^$' -bench Flow -count "$count"
# Captures: a public one, and its time next to tcptrace's.
go test ./pcaps/capture ./pcaps/track -run '^$' -bench 'Next|Tracker' -count "$count"
capture=${CAPTURE:-../shared/captures/echo-82k-packets.pcap.gz}
if [ -e "$capture" ] && command -v tcptrace >/dev/null; then
	dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
	gunzip -c "$capture" >"$dir/capture.pcap"
	go build -o "$dir" ./cmd/tcpwheel
	for command in "env GOMAXPROCS=1 $dir/tcpwheel analyze" "tcptrace -n"; do
		echo "# $command, user and system seconds of ten runs:" >&2
		(for _ in 0 1 2 3 4 5 6 7 8 9; do $command "$dir/capture.pcap" >/dev/null 2>&1; done; times | tail -1 >&2)
	done
fi
# Over TUN, next to gVisor's TCP.
[ "$(id -u)" != 0 ] || go test ./tun/up -run '^$' -bench TUNCompare -benchtime 60x
