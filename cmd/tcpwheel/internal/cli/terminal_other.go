//go:build !linux && !darwin && !freebsd

package cli

import "os"

func windowColumns(*os.File) (n int, ok bool) { return 0, false }
