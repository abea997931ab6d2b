// Package promtext writes metrics in the text format of Prometheus, version 0.0.4. It reads no
// clock and starts no goroutine. Prometheus' own client also has native histograms, OpenMetrics and
// protobuf; it takes 2.5 MB of a program and 48 modules.
package promtext
