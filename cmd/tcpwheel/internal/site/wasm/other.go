//go:build !js

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "tcpwheel: error: the static page's program runs in a browser only, see make site")
	os.Exit(1)
}
