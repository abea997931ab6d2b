//go:build !js

package cli

import (
	"github.com/spf13/cobra"

	"tcpwheel/wheel"
)

func newWheel() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "wheel",
		Short:   "timers by every scheme of the timing-wheel paper",
		Long:    "Wheel lists and measures the timer schemes of package wheel.",
		Example: "  tcpwheel wheel schemes",
	}
	cmd.AddCommand(newBench(), newSchemes())
	return cmd
}

// scheme is a line of wheel schemes.
type scheme struct {
	Name    string `json:"name" head:"scheme"`
	About   string `json:"about" head:"description"`
	Default bool   `json:"default,omitempty"`
}

func allSchemes() (all []scheme) {
	for _, name := range wheel.Schemes() {
		all = append(all, scheme{Name: name, About: wheel.About(name), Default: name == wheel.Default})
	}
	return all
}

func newSchemes() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "schemes",
		Short:   "list all schemes",
		Long:    "Schemes lists the names of all schemes, for other commands, with a description.",
		Example: "  tcpwheel wheel schemes --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.OutOrStdout(), asJSON, "name about", allSchemes())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}
