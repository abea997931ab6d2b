package declared

import (
	"embed"
	"io/fs"
)

//go:embed first/*.yaml
var first embed.FS

// First returns the files of a first folder, to start one's own: plan.yaml, claims.yaml and
// figures.yaml.
func First() fs.FS {
	files, err := fs.Sub(first, "first")
	if err != nil {
		panic("BUG: declared: " + err.Error())
	}
	return files
}
