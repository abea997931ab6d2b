//go:build !linux

package up

import (
	"context"
	"errors"
	"fmt"
)

// Run runs a Host until the context ends. Here there are no TUN devices as Linux has them, so that it is always an error.
func Run(_ context.Context, c Config, _ func(Running)) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	return errors.New("up: only on Linux")
}
