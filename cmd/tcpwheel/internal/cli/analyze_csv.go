package cli

import "tcpwheel/pcaps/track"

// flowRow is a line of the table of connections: the connection's fields, then those of one
// direction. Its packets are flow_packets.
type flowRow struct {
	Conn  track.ConnRecord
	Index int `json:"flow" help:"of these two: 0 or 1"`
	Flow  track.FlowRecord
}
