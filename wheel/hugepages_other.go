//go:build !linux

package wheel

// adviseHuge asks for huge pages, which is not done on this system.
func adviseHuge[T any]([]T) {}
