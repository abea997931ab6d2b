//go:build !linux

package wheel

// adviseHuge does nothing on this system.
func adviseHuge[T any]([]T) {}
