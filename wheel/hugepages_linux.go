package wheel

import (
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages under a large arena, whose random accesses would otherwise miss
// the TLB as often as the cache. It is advice: a kernel without huge pages ignores it.
func adviseHuge[T any](s []T) {
	const huge = 2 << 20
	if len(s) == 0 {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), uintptr(len(s))*unsafe.Sizeof(s[0]))
	start := -uintptr(unsafe.Pointer(&b[0])) & (huge - 1)
	if len(b) < 2*huge {
		return
	}
	end := len(b) - int((uintptr(unsafe.Pointer(&b[0]))+uintptr(len(b)))&(huge-1))
	_ = syscall.Madvise(b[start:end], syscall.MADV_HUGEPAGE)
}
