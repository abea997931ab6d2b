// Package site makes the static page: analyze, replay and the demo in a browser, without a server.
//
// # Files
//
// A folder for any web server has index.html and the program, tcpwheel.wasm.gz. tcpwheel.html has
// both in one file, to open or to mail. The program is the command's own analyze and replay, and
// the lanes of the demo: package wasm. It runs in workers, with files in memory.
//
// # Policy
//
// The page's Content-Security-Policy names its scripts by their sums. It allows connections to the
// folder that the page is from, for the program, and none at all in the single file. It stores
// nothing.
package site

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html"
	"os"
	"path/filepath"
	"strings"

	"tcpwheel/cmd/tcpwheel/internal/demo"
	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/report"
	"tcpwheel/pcaps/samples"
)

var (
	//go:embed site.html
	siteHTML string
	//go:embed site.css
	siteCSS string
	//go:embed site.js
	siteJS string
	//go:embed worker.js
	workerJS string
)

// Parts is what a page is made of besides this package.
type Parts struct {
	Program []byte // WebAssembly, of package wasm
	Exec    string // wasm_exec.js of the Go that made it
}

// Write writes index.html with tcpwheel.wasm.gz, and tcpwheel.html, to a folder.
func Write(dir string, p Parts) error {
	if len(p.Program) == 0 || p.Exec == "" {
		return errors.New("site: no program, or no wasm_exec.js")
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	w.Write(p.Program)
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"tcpwheel.wasm.gz": packed.Bytes(),
		"index.html":       []byte(page(p, nil)),
		"tcpwheel.html":    []byte(page(p, packed.Bytes())),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// page returns the page, with the program in it if that is not nil.
func page(p Parts, program []byte) string {
	js := htmlpage.Script() + demo.Script() + siteJS
	sum := sha256.Sum256([]byte(js))
	connect, network, inside := "'self'", "to anything but the folder that this page is from", ""
	if program != nil {
		connect, network = "'none'", "to anything"
		inside = `<script type="text/plain" id="s-wasm">` + base64.StdEncoding.EncodeToString(program) + "</script>\n"
	}
	policy := "default-src 'none'; connect-src " + connect + "; worker-src blob:; style-src 'unsafe-inline'; base-uri 'none'; " +
		"form-action 'none'; script-src 'wasm-unsafe-eval' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	body := strings.NewReplacer("{{network}}", network, "{{samples}}", sampleButtons(), "{{demo}}", demo.Body()).Replace(siteHTML)
	return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"referrer\" content=\"no-referrer\">\n" +
		"<title>tcpwheel</title>\n<style>\n" + htmlpage.CSS() + report.CSS() + demo.Style() + siteCSS + "</style></head>\n<body>\n" + body +
		"<script type=\"text/plain\" id=\"s-worker\">\n" + p.Exec + workerJS + "</script>\n" + inside +
		"<script>" + js + "</script>\n</body></html>\n"
}

func sampleButtons() string {
	var b strings.Builder
	for _, s := range samples.List() {
		b.WriteString(` <button data-sample="` + html.EscapeString(s.Name) + `" title="` + html.EscapeString(s.About) + `">` + html.EscapeString(s.Name) + "</button>")
	}
	return b.String()
}
