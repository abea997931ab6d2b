package cli

import (
	"reflect"

	"tcpwheel/pcaps/track"
)

// episodeHeader returns the columns of episodes: the fields of an EpisodeRecord without its type.
func episodeHeader() []string { return columnsOf(reflect.TypeFor[track.EpisodeRecord]()) }

// episodeRecordRow returns the fields of a record.
func episodeRecordRow(r *track.EpisodeRecord) []string { return fieldsOf(reflect.ValueOf(r).Elem()) }

// flowRow is a line of the table of connections: the connection's fields, then those of one
// direction.
type flowRow struct {
	Conn  track.ConnRecord
	Index int `json:"flow"` // 0 or 1
	Flow  track.FlowRecord
}

// flowHeader returns the columns of connections: the fields of a ConnRecord without type and flows,
// the number of the flow, and the fields of its FlowRecord. The flow's packets are flow_packets. A
// nested field is a column with both names, such as rtt_min_s. Each kind of episode is a column.
func flowHeader() []string { return columnsOf(reflect.TypeFor[flowRow]()) }

// flowRows returns the lines of a connection, one for each direction.
func flowRows(r *track.ConnRecord) (rows [][]string) {
	for i := range r.Flows {
		rows = append(rows, fieldsOf(reflect.ValueOf(flowRow{*r, i, r.Flows[i]})))
	}
	return rows
}
