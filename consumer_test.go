package tcpwheel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAnotherModule builds and runs the library example of the README in a module of its own, which
// uses this one by a replace directive.
func TestAnotherModule(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(readme), "```go\n")
	example, _, closed := strings.Cut(example, "```")
	if !ok || !closed {
		t.Fatal("README.md shows no Go code")
	}
	m := newUserModule(t)
	m.write("main.go", `package main

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"tcpwheel/netstack"
)

func main() {
`+example+`
	fmt.Println("stack with", s.TransportProtocolInstance(netstack.ProtocolNumber).Number())
	s.Destroy()
}
`)
	if got := m.run("run", "."); got != "stack with 6\n" {
		t.Errorf("the example printed %q", got)
	}
}

// userModule is a module of its own, which uses this one by a replace directive.
type userModule struct {
	t   *testing.T
	dir string
}

func newUserModule(t *testing.T) *userModule {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	m := &userModule{t, t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// The same requirements, so that no module has to be looked up.
		m.write(name, strings.Replace(string(text), "module tcpwheel\n", "module example.org/user\n", 1))
	}
	m.run("mod", "edit", "-require=tcpwheel@v0.0.0", "-replace=tcpwheel="+root)
	return m
}

func (m *userModule) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o666); err != nil {
		m.t.Fatal(err)
	}
}

// run runs the go command in the module and returns its output.
func (m *userModule) run(args ...string) string {
	m.t.Helper()
	c := exec.Command("go", args...)
	c.Dir = m.dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOPROXY=off", "GOWORK=off")
	out, err := c.CombinedOutput()
	if err != nil {
		m.t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestModulesOfTheLibrary holds the modules whose packages a user of the wheel, the engine and the
// binding compiles, and keeps what is for clusters and tools out of go.mod, which users inherit.
func TestModulesOfTheLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"./wheel", "./tcptimers", "./netstack/tcp", "./netstack").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	got := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	want := []string{
		"github.com/google/btree", "golang.org/x/exp", "golang.org/x/sys", "golang.org/x/time", "gvisor.dev/gvisor", "tcpwheel",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the library's packages are of the modules %v, want %v", got, want)
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, elsewhere := range []string{"minio", "Azure", "parquet", "x509roots", "honnef.co"} {
		if strings.Contains(string(text), elsewhere) {
			t.Errorf("go.mod names %s, which belongs to a module or file of its own", elsewhere)
		}
	}
}
