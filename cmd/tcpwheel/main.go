// Command tcpwheel is the front of the project. It analyses and replays captures, runs a TCP stack
// behind a TUN device, runs studies and scenarios, and measures timing wheels.
//
// Results go to standard output, as tables or, with --json, as one JSON object a line. Messages go
// to standard error. tcpwheel --help lists the exit statuses. link and up exit with the status of a
// command of the caller that fails.
package main

import "tcpwheel/cmd/tcpwheel/internal/cli"

func main() { cli.Main() }
