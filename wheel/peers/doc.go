// Package peers is no library: it has the benchmarks of timer facilities that others wrote, beside those of package
// wheel. It is a module of its own, so that whoever uses tcpwheel does not inherit what only these benchmarks need.
//
// README.md says how to run them, and what is measured.
package peers
