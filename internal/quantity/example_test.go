package quantity_test

import (
	"fmt"

	"tcpwheel/internal/quantity"
)

func ExampleParseRate() {
	rate, err := quantity.ParseRate("1.5Gbit")
	fmt.Println(uint64(rate), rate, err)
	_, err = quantity.ParseRate("fast")
	fmt.Println(fmt.Errorf("rate %w", err))
	// Output:
	// 1500000000 1.5Gbit <nil>
	// rate "fast", want none, or whole bit/s from 1 to 1e15, such as 100Mbit, 1.5Gbit or 1e8
}
