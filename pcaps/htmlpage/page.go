package htmlpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

var (
	//go:embed page.js
	script string
	//go:embed page.html
	markup string
	//go:embed page.css
	style string
)

// Frame is the head and foot of a page.
type Frame struct {
	Title  string
	Policy string // the Content-Security-Policy: no network, no script but Script
	Style  template.CSS
	Script template.JS
}

// NewFrame returns the frame of a page that adds style to the common one.
func NewFrame(title, more string) Frame {
	return Frame{Title: title, Policy: policy(), Style: template.CSS(style + more), Script: template.JS(script)}
}

// Fact is a name and a value at the head of a page.
type Fact [2]string

// Templates returns the templates "head", "foot" and "facts". Parse a page's templates into them.
func Templates() *template.Template { return template.Must(template.New("").Parse(markup)) }

func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
