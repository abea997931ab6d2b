//go:build !race

package all

// raceDetector makes all that runs take ten times as long.
const raceDetector = false
