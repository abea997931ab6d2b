//go:build !js

package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tcpwheel/experiments"
	studies "tcpwheel/experiments/all"
	"tcpwheel/experiments/declared"
)

// isStudyFolder reports whether an argument is a folder with a plan and claims.
func isStudyFolder(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && info.IsDir()
}

// openFolder opens a user's study: a folder with plan.yaml, claims.yaml and figures.yaml.
func openFolder(cmd *cobra.Command, arg string, quick bool) (*experiments.Job, error) {
	full, err := filepath.Abs(arg)
	if err != nil {
		return nil, err
	}
	j, err := declared.Open(os.DirFS(filepath.Dir(full)), filepath.Base(full), quick, studies.Find)
	if err != nil {
		return nil, usage(cmd, err)
	}
	return j, nil
}
