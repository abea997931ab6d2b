// Package demo serves the page of the demo: lanes of package lanes, as one live
// page.
//
// # Concurrency
//
// A Server serialises all access to its lanes.Player, and holds its lock for a frame at a time.
package demo
