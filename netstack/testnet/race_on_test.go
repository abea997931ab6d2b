//go:build race

package testnet

// raceDetector reports that the race detector runs. It makes the scheduler mix goroutines.
const raceDetector = true
