// Package report writes the results of studies: a directory with a page and its data, and the parts
// of the repository's documents that show results.
//
// # Usage
//
//	r, err := report.New("tcpwheel v1.2.3", jobs, results)
//	err = r.WriteDir("report/")
//
//	r, err := report.Rejudge("report/", openStudy)
//	err = r.WriteDocs(".")
//
// # The directory
//
//	report.md       the page, with the figures of the directory
//	claims.json     every claim with its verdict, and the digests of plans and results
//	SHA256SUMS      of all other files, for sha256sum -c
//	NAME/plan.yaml  the plan of study NAME
//	NAME/cells.jsonl  results of its cells, for Rejudge
//	NAME/result.json  its claims, tables, figures and notes
//	NAME/TABLE.csv, NAME/FIGURE.svg, NAME/FIGURE.csv
//	NAME/live-PART.json  timings of this machine, with --live
//
// Only live parts depend on time and place, and they name their machine. Runs with the same plans
// give the same bytes.
//
// WriteDir writes all files to a temporary directory and then renames it, so a report is always
// whole. It replaces an existing directory only if that holds a report and nothing else.
package report
