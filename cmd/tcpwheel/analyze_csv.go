package main

import (
	"reflect"
	"slices"

	"tcpwheel/pcaps/track"
)

// episodeHeader returns the columns of episodes: the fields of an EpisodeRecord, but for its type.
func episodeHeader() []string { return columnsOf(reflect.TypeFor[track.EpisodeRecord](), "") }

// episodeRecordRow returns the fields, those that are not known as empty text, and several packets with blanks between.
func episodeRecordRow(r *track.EpisodeRecord) []string {
	return fieldsOf(reflect.ValueOf(r).Elem(), nil)
}

// flowRow is a line of the table of connections: what they have in common, and then one of their directions.
type flowRow struct {
	Conn  track.ConnRecord
	Index int `json:"flow"` // 0 or 1
	Flow  track.FlowRecord
}

// flowHeader returns the columns of connections: the fields of a ConnRecord but for its type and flows, the number of the flow, and the
// fields of its FlowRecord, of which packets is flow_packets here. A field that has fields itself is a column for each of these, with its
// name and _ before, as rtt_min_s; and episodes is a column for each kind.
func flowHeader() []string {
	names := columnsOf(reflect.TypeFor[flowRow](), "")
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			names[i] = "flow_" + name
		}
	}
	return names
}

// flowRows returns the lines of a connection, one for each direction.
func flowRows(r *track.ConnRecord) (rows [][]string) {
	for i := range r.Flows {
		rows = append(rows, fieldsOf(reflect.ValueOf(flowRow{*r, i, r.Flows[i]}), nil))
	}
	return rows
}
