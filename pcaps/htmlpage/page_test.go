package htmlpage

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"regexp"
	"strings"
	"testing"
)

// TestFrame has the title escaped, both styles, and the one script that the policy allows.
func TestFrame(t *testing.T) {
	pages := template.Must(Templates().Parse(`{{define "page"}}{{template "head" .}}{{template "facts" .Facts}}{{template "foot" .}}{{end}}`))
	view := struct {
		Frame
		Facts []Fact
	}{NewFrame("a <b>", ".more { color: red; }\n"), []Fact{{"n", "<1>"}}}
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "page", view); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"<!DOCTYPE html>\n", "<title>a &lt;b&gt;</title>", "<h1>a &lt;b&gt;</h1>", "--soft:", ".more { color: red; }", "<dt>n</dt><dd>&lt;1&gt;</dd>", "</html>\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts, want 1", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0][1]))
	if want := "sha256-" + base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(template.HTMLEscapeString(view.Policy)+view.Policy, want) {
		t.Errorf("the policy allows another script than the page's: %s", view.Policy)
	}
	for _, word := range []string{"http:", "https:", "url(", "@import", "<link", " src="} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q in it", word)
		}
	}
}
