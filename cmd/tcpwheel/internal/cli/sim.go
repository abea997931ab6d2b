//go:build !js

package cli

import (
	"github.com/spf13/cobra"
)

func newSim() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sim",
		Short:   "hosts with TCP in a virtual network",
		Long:    "Sim runs hosts with TCP engines in a virtual network and in virtual time.",
		Example: "  tcpwheel sim bench --flows 1 --runs 1",
	}
	cmd.AddCommand(newSimBench())
	return cmd
}
