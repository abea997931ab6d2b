//go:build !linux

package kerneltruth

import (
	"context"
	"errors"
)

// Run returns an error.
func Run(context.Context, Scenario, string) error {
	return errors.New("kerneltruth: only on Linux, whose kernel tells why it retransmits")
}
