// Package peers has benchmarks of the schemes of package wheel and of timer facilities that others
// wrote. It is a module of its own, so that users of tcpwheel do not inherit its dependencies.
//
// README.md says how to run the benchmarks and what they measure.
package peers
