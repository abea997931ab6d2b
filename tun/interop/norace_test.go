//go:build !race

package interop

const raced = false
