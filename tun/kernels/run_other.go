//go:build !linux

package kernels

import (
	"context"
	"errors"
)

// Run needs Linux.
func Run(context.Context, Scenario, string) error {
	return errors.New("kernels: only on Linux, whose kernel tells why it retransmits")
}
