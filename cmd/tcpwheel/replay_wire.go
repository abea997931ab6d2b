package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// wireRecord is an end in an open loop.
type wireRecord struct {
	Type       string  `json:"type"`
	File       string  `json:"file"`
	Conn       int     `json:"conn"`
	End        string  `json:"end"`
	Policy     string  `json:"policy"`
	First      int     `json:"first_transmissions"`
	FirstRight int     `json:"first_within_1ms"`
	Again      int     `json:"retransmissions"`
	AgainRight int     `json:"retransmissions_within_1ms"`
	More       int     `json:"not_captured"`
	Median     float64 `json:"median_s"`
	P95        float64 `json:"p95_s"`
	Want       string  `json:"divergence_captured,omitempty"`
	Got        string  `json:"divergence_sent,omitempty"`
}

// wires prints what engines send that hear what an end of the capture heard.
func (r *replaying) wires() error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !r.asJSON {
		fmt.Fprintf(&b, "%5s %-6s %-18s%14s%12s%6s%8s%8s\n", "conn", "end", "policy", "first <= 1 ms", "again", "more", "median", "p95")
	}
	for _, x := range r.results {
		for c := range r.study.Choices {
			ends, err := r.study.Wire(x, c)
			if err != nil {
				return err
			}
			for i, o := range ends {
				if o == nil {
					continue
				}
				rec := wireRecord{
					Type: "wire", File: x.File, Conn: x.ID, End: [2]string{"client", "server"}[i], Policy: r.study.Choices[c].Text,
					First: o.First, FirstRight: o.FirstRight, Again: o.Again, AgainRight: o.AgainRight, More: o.More,
					Median: o.Median.Seconds(), P95: o.P95.Seconds(),
				}
				if d := o.Divergence; d != nil {
					rec.Want, rec.Got = d.Want.String(), d.Got.String()
				}
				if r.asJSON {
					if err := enc.Encode(&rec); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintf(&b, "%5d %-6s %-18s%14s%12s%6d%s%s\n", rec.Conn, rec.End, rec.Policy, fmt.Sprintf("%d/%d", o.FirstRight, o.First),
					fmt.Sprintf("%d/%d", o.AgainRight, o.Again), o.More, pad(spanOrDash(o.Median, o.First > 0), 8), pad(spanOrDash(o.P95, o.First > 0), 8))
				if d := o.Divergence; d != nil {
					fmt.Fprintf(&b, "      captured %v\n      sent     %v\n", d.Want, d.Got)
				}
			}
		}
	}
	_, err := r.stdout.Write([]byte(b.String()))
	return err
}
