// Package declared judges the rows of a study by what two YAML files say: claims.yaml has its
// claims and notes, figures.yaml its tables and figures.
//
// # Usage
//
//	Judge: declared.Judge[Plan, Cell](files, "."),
//
// # Rows and measures
//
// A row is the result of a cell: a struct whose fields, by their names in JSON, are the columns. An
// expression may name keys of the plan and of "let", and, inside an operator, columns:
//
//	mean(share where timers == published and period == floor)
//	least(mean(share) over period where period > floor / 2)
//
//	resampled(crossing(mean(share), 0.1 over servers) over seed)
//
// The first is the mean over some rows. The second is the least of the means at each period, and
// .at of it is that period. The third has its interval over the seeds. The file operators.go lists
// all operators. Numbers, durations (20ms), texts ("bsd" or 'bsd') and intervals have + - * / == !=
// < <= > >=, and, or and not. A text may have expressions in braces. "functions" are formulas with
// parameters: measures of the rows in sight, or conditions on a row. "groups" makes rows of groups,
// so a claim can count them:
//
//	groups:
//	  settings:
//	    each: [rate, floor, servers]
//	    measures: {gain: "resampled(sum(took where not jitter) / sum(took where jitter) over seed)"}
//	claims:
//	  helps: {measure: count(in settings where gain.lo > 1), expect: {at_least: 1}, …}
//
// # Claims
//
// At the top of claims.yaml, "question" is the study's question in one line, "found" what it found
// in a sentence or two, and "rows" what a row is: {order} in "found" is what claim order measured,
// {order#} the number alone. A claim has a class, a text, and
//
//	measure, unit      the number that is judged
//	measured           words that show it, if a number does not say it
//	expect, differs    one of exactly, at_least, at_most, above, below, between, within,
//	                   within_percent, printed, printed_range, or holds with a text; what is
//	                   outside the first and inside the second differs
//	basis, source, tag, published
//	                   where the numbers come from, and what was printed
//	look               an independent look: how much of the source was read (paper, abstract,
//	                   summary, code or none), at which page or section, its words as a quote,
//	                   and what turns the verdict
//	when, else         a condition, and why the claim does not apply without it
//	seeds              the least seeds for a verdict that has no interval
//	for                a list: a claim for each item, whose name has it in braces
//	like               another claim, whose keys hold where this one has none
//
// A claim whose condition does not hold, or whose rows the plan does not have, is "not applicable
// here", with the reason. The order of lists never decides anything: values that play a part have
// names in the plan.
//
// # Tables and figures
//
// A table has a line for each value of "each", which "rising: true" sorts, behind the constant
// lines of "above", such as published ones; "data" is a condition under which it is for programs
// alone. A column is a formula, {interval: …} for three columns, or "for" a list; "heading" is
// what it shows if two have the same, and "when" a condition. "for" a list gives several tables,
// and {braces} in their name.
//
// A series of a figure has "lines" by columns, "over" a column, "x" and "y", or the "share" of rows
// up to a number, or of their samples: their distribution, in as many "points". "panels" draw the
// same series with other values. In all of them "rows: NAME" takes groups in the place of runs.
// "notes" are paragraphs, and with "warning: true" what keeps the results from being taken as they
// are.
//
// # Errors
//
// Read and Check name the file, line and key, and the nearest name for an unknown one. Check knows
// all names before the first cell runs.
//
// # Limits
//
// An expression costs O(rows) for each operator in it. Its arithmetic is IEEE 754 without fused
// operations, so results are the same on all machines.
package declared
