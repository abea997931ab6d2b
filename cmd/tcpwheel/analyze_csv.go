package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

// isColumn reports whether a field of a record is in tables.
func isColumn(f reflect.StructField) bool {
	return f.Name != "Type" && f.Name != "Flows"
}

// columnsOf returns the names of the columns that a value of type t becomes.
func columnsOf(t reflect.Type, name string) (names []string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		for kind := range track.Kinds {
			names = append(names, name+"_"+track.Kind(kind).String())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !isColumn(f) {
				continue
			}
			column, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" {
				column = name + "_" + column
			}
			names = append(names, columnsOf(f.Type, column)...)
		}
	default:
		names = append(names, name)
	}
	return names
}

// fieldsOf appends the columns of a value, as many as columnsOf names for its type.
func fieldsOf(v reflect.Value, row []string) []string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(row, make([]string, len(columnsOf(v.Type(), "")))...)
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Map:
		for kind := range track.Kinds {
			n := v.MapIndex(reflect.ValueOf(track.Kind(kind).String()))
			if !n.IsValid() {
				n = reflect.ValueOf(0)
			}
			row = append(row, fmt.Sprint(n.Interface()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isColumn(v.Type().Field(i)) {
				row = fieldsOf(v.Field(i), row)
			}
		}
	case reflect.Slice:
		if words, ok := v.Interface().([]string); ok {
			return append(row, strings.Join(words, "; "))
		}
		row = append(row, strings.Trim(fmt.Sprint(v.Interface()), "[]"))
	case reflect.Float64:
		row = append(row, strconv.FormatFloat(v.Float(), 'g', -1, 64))
	default:
		row = append(row, fmt.Sprint(v.Interface()))
	}
	return row
}
