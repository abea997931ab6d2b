// Package shell is what all pages of the house have in common: a script that sorts tables and saves data, and the
// policy that lets a page load nothing and run no script but that.
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

//go:embed page.js
var script string

// Script is the script, for the end of a page.
func Script() template.JS { return template.JS(script) }

// Policy is the page's Content-Security-Policy: no network, no script but Script.
func Policy() string {
	sum := sha256.Sum256([]byte(script))
	return "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
