package demo

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"sync"

	"tcpwheel/cmd/tcpwheel/internal/lanes"
	"tcpwheel/internal/setting"
	"tcpwheel/pcaps/htmlpage"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed words.js
	wordsJS string
	//go:embed diagrams.js
	diagramsJS string
	//go:embed page.js
	pageJS string
	//go:embed server.js
	serverJS string
)

// Body returns the HTML of the demo, for an element of class "demo".
func Body() string {
	var fields strings.Builder
	for _, s := range setting.All(lanes.Conditions{}) {
		fmt.Fprintf(&fields, "<label title=\"%s\">%s <input name=\"%[2]s\" size=\"7\"", html.EscapeString(s.Help), s.Name)
		if strings.HasSuffix(s.Help, "(default: the policy's)") {
			fields.WriteString(` placeholder="its own"`)
		}
		fields.WriteString("></label>\n")
	}
	return strings.Replace(pageHTML, "{{conditions}}", fields.String(), 1)
}

// Style returns the CSS of Body. It needs that of package htmlpage.
func Style() string { return pageCSS }

// Script returns the function startDemo, which runs Body from any source of frames.
func Script() string { return wordsJS + diagramsJS + pageJS }

// page is the page of a program on this machine, and its policy.
var page = sync.OnceValues(func() (text, policy string) {
	js := "\"use strict\";\n" + Script() + serverJS
	sum := sha256.Sum256([]byte(js))
	policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<title>tcpwheel demo</title><style>" + htmlpage.CSS() + "body { max-width: 1700px; }\n" + pageCSS + "</style></head>\n<body><main class=\"demo\">\n" +
		Body() + "</main>\n<script>" + js + "</script></body></html>\n", policy
})
