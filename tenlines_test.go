package tcpwheel_test

import (
	"os"
	"strings"
	"testing"
)

// TestTenLines pastes the first code of docs/testing-programs.md into a module of its own, and runs
// it there.
func TestTenLines(t *testing.T) {
	page, err := os.ReadFile("docs/testing-programs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(page), "```go\n")
	example, _, closed := strings.Cut(example, "```")
	if !ok || !closed {
		t.Fatal("docs/testing-programs.md shows no Go code")
	}
	m := newUserModule(t)
	m.write("worst_test.go", `package main

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

`+example)
	if got := m.run("test", "-count=1", "-v", "."); !strings.Contains(got, "--- PASS: TestWorstMinute") {
		t.Errorf("the ten lines printed %q", got)
	}
}
