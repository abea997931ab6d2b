//go:build race

package sockets_test

const raceDetector = true
