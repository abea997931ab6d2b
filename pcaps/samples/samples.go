// Package samples embeds small captures made by this project: connections between two kernels over
// an emulated link, with the truth about each transmission. They let the program show its output
// anywhere.
//
// README.md lists the files. `make samples` makes them again from scenarios.json, as root on
// Linux.
package samples

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Sample describes a scenario.
type Sample struct {
	Name     string
	About    string
	Captures []string // names for Open, such as "tail-one/a.pcapng.gz"
}

// Scenarios returns the scenarios of the samples in the format of netstack/programs/samples.
func Scenarios() []byte {
	text, err := files.ReadFile("scenarios.json")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return text
}

// List returns the samples in the order of the scenarios.
func List() []Sample {
	var all []Sample
	if err := json.Unmarshal(Scenarios(), &all); err != nil {
		panic("BUG: scenarios.json: " + err.Error())
	}
	for i := range all {
		s := &all[i]
		for _, point := range []string{"a", "middle", "b"} {
			name := path.Join(s.Name, point+".pcapng.gz")
			if _, err := fs.Stat(files, name); err == nil {
				s.Captures = append(s.Captures, name)
			}
		}
	}
	return all
}

// Open opens a file of a sample. The caller closes it.
func Open(name string) (io.ReadCloser, error) {
	f, err := files.Open(strings.TrimPrefix(name, "./"))
	if err != nil {
		return nil, fmt.Errorf("samples: no %s: List tells which there are: %w", name, fs.ErrNotExist)
	}
	return f, nil
}

// Dir returns the files of a sample.
func Dir(name string) (fs.FS, error) {
	if info, err := fs.Stat(files, name); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("samples: no sample %q: %w", name, fs.ErrNotExist)
	}
	return fs.Sub(files, name)
}
