// Package report writes what studies have found: a directory with a page and the data behind it,
// and the parts of the repository's own documents that results are in.
//
// # Usage
//
//	r, err := report.New("tcpwheel v1.2.3", jobs, results)
//	err = r.WriteDir("report/")
//
//	r, err := report.Read("report/", openStudy)
//	err = r.WriteDocs(".")
//
// # What a directory holds
//
//	index.html      the page: all of it in one file, which loads nothing
//	claims.json     every claim with its verdict, and the digests of plans and results
//	SHA256SUMS      of all other files, as sha256sum -c reads it
//	NAME/plan.yaml  the plan that study NAME ran with
//	NAME/cells.jsonl  what its cells returned, as shards are written: experiment merge and Read take it
//	NAME/result.json  its claims, tables, figures and notes
//	NAME/TABLE.csv, NAME/FIGURE.svg, NAME/FIGURE.csv
//	NAME/live-PART.json  what only one machine can tell, if that was asked for
//
// Nothing in it depends on when or where it was written, but for live parts, which stand by
// themselves and name their machine. So runs with the same plans, and shards merged, give the same
// octets.
//
// # How it is written
//
// All files are written to a directory beside, which then takes the name: what is there is whole. A
// directory that is there already is replaced if it holds such a report and nothing else.
//
// # Limitations
//
// Of a README, the page shows paragraphs, lists, emphasis and code, and the rest as it is.
package report
