package quantity

import (
	"fmt"
	"strings"
)

// Count writes how many there are of what a noun names: "1 loss", "7 losses", "0 window probes".
func Count[N int | int64 | uint64 | uint32](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y:
		return fmt.Sprintf("%d %sies", n, stem)
	case strings.HasSuffix(noun, "ss"):
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
