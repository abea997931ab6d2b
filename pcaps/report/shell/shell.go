// Package shell has what all pages share: head and foot, the style of text and tables, a script
// that sorts tables and saves data, and a Content-Security-Policy that allows nothing else.
//
// # Usage
//
//	pages := template.Must(shell.Templates().Parse(`{{define "page"}}{{template "head" .}}…{{template "foot" .}}{{end}}`))
//	err := pages.ExecuteTemplate(w, "page", view{shell.NewFrame("a title", moreStyle), …})
//
// "head" and "foot" take a Frame, alone or as an embedded field. "facts" takes a list of Fact.
//
// The script sorts a table of class "sort" by the column whose head is clicked. It gives each pre
// of class "csv" a button that saves its text under the name in data-name. A page is complete
// without it.
package shell

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
	html string
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
func Templates() *template.Template { return template.Must(template.New("").Parse(html)) }

func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
