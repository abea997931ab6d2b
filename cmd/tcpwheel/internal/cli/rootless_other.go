//go:build !linux && !js

package cli

import (
	"context"
	"errors"
	"io"

	"tcpwheel/tun/up"
)

var errRootless = errors.New("up: --rootless: only on Linux")

func runRootless(string, io.Reader, io.Writer, io.Writer) error { return errRootless }

func rootless() bool { return false }

func enterRootless(*up.Config) error { return errRootless }

func runInside(context.Context, up.Config, []string, io.Reader, io.Writer, io.Writer) error {
	return errRootless
}

func shellOf(io.Reader) []string { return nil }
