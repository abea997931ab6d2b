// Package shell is what all pages of the house have in common: their head and foot, the style of text and tables, a script that sorts
// tables and saves data, and the policy that lets a page load nothing and run no script but that.
//
// # Usage
//
//	pages := template.Must(shell.Templates().Parse(`{{define "page"}}{{template "head" .}}…{{template "foot" .}}{{end}}`))
//	err := pages.ExecuteTemplate(w, "page", view{shell.NewFrame("a title", moreStyle), …})
//
// "head" and "foot" want a Frame, as a field or by itself, and "facts" a list of Fact.
//
// The script sorts each table of class "sort" by the column whose head is touched, and gives each pre of class "csv" a
// button that saves its text under the name in data-name. A page is whole without it.
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

// Frame is what is around a page.
type Frame struct {
	Title  string
	Policy string // the Content-Security-Policy: no network, no script but Script
	Style  template.CSS
	Script template.JS
}

// NewFrame makes the frame of a page whose style goes beyond that of the house.
func NewFrame(title, more string) Frame {
	return Frame{Title: title, Policy: policy(), Style: template.CSS(style + more), Script: template.JS(script)}
}

// Fact is a figure at the head of a page: its name and its value.
type Fact [2]string

// Templates returns "head", "foot" and "facts", for the templates of a page to be parsed into.
func Templates() *template.Template { return template.Must(template.New("").Parse(html)) }

func policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
