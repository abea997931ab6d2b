//go:build !linux

package up

import (
	"context"
	"errors"
	"fmt"
)

// Host exists only on Linux.
type Host struct{}

// Run returns an error: other systems lack Linux's TUN devices.
func Run(_ context.Context, c Config, _ func(string)) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	return errors.New("up: only on Linux")
}
