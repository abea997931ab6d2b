package htmlpage

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcpwheel/internal/record"
)

// TestPage has texts escaped, both styles, and the one script that the policy allows.
func TestPage(t *testing.T) {
	var b strings.Builder
	type row struct {
		N string        `head:"n" cell:"number"`
		W string        `head:"<w>"`
		D time.Duration `head:"d"`
		P record.Cell   `head:"p" cell:"words"`
	}
	rows := Records("sort", "", []row{{"<i>", "<i>", time.Second, record.Cell{Text: "<", Class: "better", Aside: true}}}, func(r *row, column string, c *record.Cell) {
		if column == "D" {
			c.Link, c.Title = "<", r.N
		}
	})
	err := Page("a <b>", ".more { color: red; }\n", Facts([]Fact{{"n", "<1>"}}), Soft(""), Soft("<s>"), rows, Markup("<svg></svg>")).Render(&b)
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<!doctype html>", "<title>a &lt;b&gt;</title>", "<h1>a &lt;b&gt;</h1>", "--soft:", ".more { color: red; }", "<dt>n</dt><dd>&lt;1&gt;</dd>",
		`<p class="soft">&lt;s&gt;`, `<table class="sort"><thead><tr><th>n</th><th class="w">&lt;w&gt;</th><th>d</th><th class="w">p</th></tr></thead>`,
		`<td>&lt;i&gt;</td><td class="w">&lt;i&gt;</td><td data-v="1" title="&lt;i&gt;"><a href="#&lt;">1.00 s</a></td><td class="w"><b class="better">(&lt;)</b></td></tr>`, "<svg></svg>", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts, want 1", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0][1]))
	if want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(html.UnescapeString(page), want) {
		t.Errorf("the policy allows another script than the page's, want %s", want)
	}
	for _, word := range []string{"http:", "https:", "url(", "@import", "<link", " src="} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q in it", word)
		}
	}
}
