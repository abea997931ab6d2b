package report

import (
	"html"
	"regexp"
	"strings"

	"tcpwheel/pcaps/htmlpage"
)

var (
	boldText  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	soft      = regexp.MustCompile(`(^|[\s(])\*([^*\s][^*]*)\*`)
	codeText  = regexp.MustCompile("`([^`]+)`")
	linkText  = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	webAdress = regexp.MustCompile(`^https?://`)
)

// inline turns emphasis, code and links of a paragraph into markup. It shows links to files as
// their words, because the page has no other files.
func inline(text string) htmlpage.Markup {
	var code []string
	text = codeText.ReplaceAllStringFunc(text, func(s string) string {
		code = append(code, s[1:len(s)-1])
		return "\uFFFD"
	})
	text = html.EscapeString(text)
	text = linkText.ReplaceAllStringFunc(text, func(s string) string {
		m := linkText.FindStringSubmatch(s)
		if webAdress.MatchString(m[2]) {
			return `<a href="` + m[2] + `">` + m[1] + `</a>`
		}
		return m[1]
	})
	text = boldText.ReplaceAllString(text, "<b>$1</b>")
	text = soft.ReplaceAllString(text, "$1<i>$2</i>")
	for _, c := range code {
		text = strings.Replace(text, "\uFFFD", "<code>"+html.EscapeString(c)+"</code>", 1)
	}
	return htmlpage.Markup(text)
}

// markdown renders a README without its title and results, which the page shows elsewhere.
func markdown(text string) htmlpage.Markup {
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "# ") {
		text = rest
	}
	text = WithoutResult(text)
	var b strings.Builder
	for block := range strings.SplitSeq(text, "\n\n") {
		block = strings.Trim(block, "\n")
		switch {
		case strings.TrimSpace(block) == "":
		case strings.HasPrefix(block, "- "):
			b.WriteString("<ul>")
			for item := range strings.SplitSeq("\n"+block, "\n- ") {
				if item != "" {
					b.WriteString("<li>" + string(inline(item)) + "</li>")
				}
			}
			b.WriteString("</ul>\n")
		case strings.HasPrefix(block, "|"), strings.HasPrefix(block, "```"), strings.HasPrefix(block, "    "):
			b.WriteString("<pre>" + html.EscapeString(strings.Trim(block, "`")) + "</pre>\n")
		case strings.HasPrefix(block, "#"):
			b.WriteString("<p><b>" + string(inline(strings.TrimLeft(block, "# "))) + "</b></p>\n")
		default:
			b.WriteString("<p>" + string(inline(block)) + "</p>\n")
		}
	}
	return htmlpage.Markup(b.String())
}
