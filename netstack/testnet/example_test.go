package testnet_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

// The examples of the doc comments, in the order of the names. TestDocExamples checks that they are
// these.

var handler = page(5000)

func TestDownload(t *testing.T) {
	path := testnet.Path{Delay: 20 * time.Millisecond}
	testnet.EachLoss(t, path, func(t *testing.T, net *testnet.Net) {
		go http.Serve(net.Listen(":80"), handler)
		client := net.HTTPClient()
		client.Timeout = 4 * time.Second
		r, err := client.Get("http://server/")
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
	})
}

func TestExampleSearch(t *testing.T) {
	path := testnet.Path{Delay: 20 * time.Millisecond}
	download := func(t *testing.T, n *testnet.Net) {
		go http.Serve(n.Listen(":80"), handler)
		if _, err := get(n.HTTPClient(), "http://server/"); err != nil {
			t.Error(err)
		}
	}
	testnet.EachLoss(t, path, download, testnet.Search{
		Policies: []string{"linux", "bsd", "per-segment"}, // on which does download depend?
		Runs:     200,
	})
}

func TestExampleSlowest(t *testing.T) {
	path := testnet.Path{Delay: 20 * time.Millisecond}
	download := func(t *testing.T, n *testnet.Net) {
		c, err := n.Dial("udp", "server:53")
		if err != nil {
			t.Error(err)
			return
		}
		c.Write([]byte("hello"))
	}
	testnet.EachLoss(t, path, download, testnet.Slowest(time.Second))
}

func TestExampleListenPacket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := testnet.New(t, testnet.Path{})
		server := net.Host("server").ListenPacket(":53")
		client, err := net.Dial("udp", "server:53")
		if err != nil {
			t.Fatal(err)
		}
		client.Write([]byte("hello"))
		if n, _, err := server.ReadFrom(make([]byte, 100)); n != 5 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestExampleResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := testnet.New(t, testnet.Path{Delay: time.Millisecond})
		net.Listen(":80")
		d := net.Host("client").Dialer()
		d.Resolver = net.Host("client").Resolver() // a dial now begins with a query
		if _, err := d.Dial("tcp", "server:80"); err != nil || net.Now() < 4*time.Millisecond {
			t.Error(net.Now(), err)
		}
	})
}

// TestDocExamples: the examples of EachLoss and what came with it are those above.
func TestDocExamples(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Skip("no source: ", err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, file)
		}
	}
	data, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	p, err := doc.NewFromFiles(fset, files, "testnet")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Funcs {
		comments[f.Name] = f.Doc
	}
	for _, kind := range p.Types {
		comments[kind.Name] = kind.Doc
		for _, f := range kind.Methods {
			comments[f.Name] = f.Doc
		}
	}
	for _, name := range []string{"EachLoss", "Search", "Slowest", "ListenPacket", "Resolver"} {
		lines := 0
		for line := range strings.Lines(comments[name]) {
			code, is := strings.CutPrefix(line, "\t")
			if code = strings.TrimSpace(code); !is || code == "" {
				continue
			}
			if lines++; !strings.Contains(string(data), code+"\n") {
				t.Errorf("the example of %s has a line that does not run: %s", name, code)
			}
		}
		if lines == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}
