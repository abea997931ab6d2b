package tcpwheel_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

func TestShellCommandsAreRead(t *testing.T) {
	text := "```\noutput\n```\n\n```sh\n# a comment\ngo test ./...\n\ngo x 'a b' c\n```\ngo away\n```go\nfunc f()\n```\n"
	want := []command{{7, []string{"go", "test", "./..."}}, {9, []string{"go", "x", "a b", "c"}}}
	if got := shellCommands(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCommandsAreTried(t *testing.T) {
	house := fstest.MapFS{
		"go.mod":             {Data: []byte("module m\n")},
		"wheel/peers/go.mod": {Data: []byte("module m/wheel/peers\n")},
		"Makefile":           {Data: []byte("check:\n\ttrue\n")},
		".ci/run":            {Data: []byte("#!/usr/bin/env bash\nstep_lint() {\n}\n")},
	}
	tcpwheel := func(args []string) error {
		if strings.Join(args, " ") != "wheel bench --json --n=100 --budget=1ms --rounds=1" {
			return fmt.Errorf("ran %q", args)
		}
		return nil
	}
	for _, test := range []struct{ command, want string }{
		{"go test ./...", ""},
		{"go run ./cmd/tcpwheel wheel bench --json", ""},
		{"go run ./cmd/tcpwheel wheel bench --n 1e6 --budget=1h --json", ""},
		{"go run example.org/x@latest", ""},
		{"go -C wheel/peers test -bench .", ""},
		{"make check", ""},
		{".ci/run", ""},
		{".ci/run lint", ""},

		{"go run ./cmd/tcpwheel wheel bunch", `ran ["wheel" "bunch"]`},
		{"go -C wheel/rivals test", "wheel/rivals/go.mod"},
		{"make coffee", "Makefile has no ^coffee:"},
		{".ci/run lint coffee", ".ci/run has no ^step_coffee"},
		{"go", "teach readme_test.go"},
		{"curl example.org", "teach readme_test.go"},
	} {
		var problems []string
		if err := tryCommand(words(test.command), house.ReadFile, tcpwheel); err != nil {
			problems = []string{err.Error()}
		}
		wantProblem(t, problems, test.want)
	}
}
