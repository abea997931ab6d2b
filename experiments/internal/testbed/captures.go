package testbed

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"tcpwheel/pcaps/capture"
)

// CaptureFiles returns the names of the captures in a directory and in those below, in order. It
// opens each file: one that begins like no capture is left out.
func CaptureFiles(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		r, err := capture.Open(name)
		switch {
		case errors.Is(err, capture.ErrNotCapture):
			return nil
		case err != nil:
			return nil // empty, or damaged from its first byte on
		}
		names = append(names, name)
		return r.Close()
	})
	slices.Sort(names)
	return names, err
}

// Packets calls add for each packet of a capture. A capture that is cut short or damaged ends
// there.
func Packets(in *capture.Reader, add func(*capture.Packet)) error {
	for {
		p, err := in.Next()
		if err == nil {
			add(p)
			continue
		}
		if _, damaged := errors.AsType[*capture.Error](err); damaged || errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}
