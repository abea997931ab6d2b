package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// buildInfo is what the Go toolchain recorded in the binary.
type buildInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Revision string `json:"revision,omitempty"` // of the source, if built in a repository
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built with uncommitted changes
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b buildInfo) String() string {
	text := fmt.Sprintf("tcpwheel %s %s %s/%s", b.Version, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		text += fmt.Sprintf("\nrevision %s of %s", b.Revision, b.Time)
		if b.Modified {
			text += ", modified"
		}
	}
	return text
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "print the version of this binary",
		Long:    `Version prints the versions of tcpwheel and Go, and the source revision if known.`,
		Example: "  tcpwheel version --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuildInfo()
			if asJSON {
				return newJSONLines(cmd.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), b)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// programVersion identifies this build by what the toolchain recorded in the binary.
func programVersion() string {
	b := readBuildInfo()
	text := "tcpwheel " + b.Version
	if b.Revision != "" && !strings.Contains(b.Version, b.Revision[:min(12, len(b.Revision))]) {
		text += " " + b.Revision
	}
	if b.Modified {
		text += ", modified"
	}
	return text
}
