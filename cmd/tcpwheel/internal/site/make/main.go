// Command make writes the static page to a folder: go run ./cmd/tcpwheel/internal/site/make FOLDER.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tcpwheel/cmd/tcpwheel/internal/site"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/tcpwheel/internal/site/make FOLDER, in the root of the module")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// write builds the program and writes the page.
func write(dir string) error {
	temp, err := os.MkdirTemp("", "tcpwheel-site")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "tcpwheel.wasm")
	build := exec.Command("go", "build", "-trimpath", "-pgo=off", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./cmd/tcpwheel/internal/site/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	fmt.Fprintln(os.Stderr, "site: building the program for the browser, which takes a minute or two the first time")
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	var p site.Parts
	if p.Program, err = os.ReadFile(program); err != nil {
		return err
	}
	run, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	p.Exec = string(run)
	fmt.Fprintf(os.Stderr, "site: packing %d MB\n", len(p.Program)>>20)
	if err := site.Write(dir, p); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "site: wrote %s for a web server, and %s to open or to mail\n", filepath.Join(dir, "index.html"), filepath.Join(dir, "tcpwheel.html"))
	return nil
}
