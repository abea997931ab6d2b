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
// The first is the mean over some rows. The second is the least of the means at each period, and
// .at of it is that period. Operators lists all operators. Numbers, durations (20ms), texts ("bsd"
// or 'bsd') and intervals have + - * / == != < <= > >=, and, or and not. A text may have
// expressions in braces. Functions of the file are formulas with parameters: "model(t): …".
//
// # Claims
//
// A claim has a class, a text, a source, a measure and what it expects. "like" takes what is
// missing from a claim above. A claim whose condition "when" does not hold, or whose rows the plan
// does not have, is "not applicable here", with the reason. The order of lists never decides
// anything: values that play a part have names in the plan.
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
