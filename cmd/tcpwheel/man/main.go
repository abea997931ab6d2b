// Command man writes the manual of tcpwheel: a page for each command, by cobra's own generator. It
// is a module of its own, so that the command does not need what formats pages. The environment's
// SOURCE_DATE_EPOCH is their date.
//
//	go -C cmd/tcpwheel/man run . DIR
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"tcpwheel/cmd/tcpwheel/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "man: want a directory")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "man: error: %v\n", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root := cli.Root()
	root.DisableAutoGenTag = true // it has the day
	return doc.GenManTree(root, &doc.GenManHeader{Source: "tcpwheel", Manual: "tcpwheel"}, dir)
}
