package declared

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// Three words separate the parts of an operator's call: least(mean(share) over period where live),
// count(in settings where gain > 1). They become arguments of these names, which no text can spell.
// ifName is the operator "if", a keyword of Go.
const (
	inMark    = "__in"
	overMark  = "__over"
	whereMark = "__where"
	ifName    = "__if"
)

var (
	token1 = regexp.MustCompile(
		`^(?:"[^"]*"|'[^']*'|[0-9][0-9_]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|[\pL_][\pL0-9_]*|\s+|.)`)
	duration  = regexp.MustCompile(`^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h))+`)
	wordStart = regexp.MustCompile(`^[\pL0-9_]`)
	spelled   = map[string]string{
		"and": "&&", "or": "||", "not": "!", "if": ifName,
		"in": "," + inMark + ",", "over": "," + overMark + ",", "where": "," + whereMark + ","}
)

// respell writes an expression as one of Go: and, or, not, over, where, 20ms and 'text' are not Go.
func respell(text string) string {
	var out strings.Builder
	last := ""
	for text != "" {
		m := duration.FindString(text)
		if m != "" && !isWord(text[len(m):]) {
			fmt.Fprintf(&out, "__span(%q)", m)
			last = m
			text = text[len(m):]
			continue
		}
		m = token1.FindString(text)
		text = text[len(m):]
		if word, ok := spelled[m]; ok {
			m = word
			if last == "(" || strings.HasSuffix(last, ",") { // nothing comes before it
				m = strings.TrimPrefix(m, ",")
			}
		}
		if strings.TrimSpace(m) != "" {
			last = m
		}
		if strings.HasPrefix(m, "'") {
			m = fmt.Sprintf("%q", strings.Trim(m, "'"))
		}
		out.WriteString(m)
	}
	return out.String()
}

// isWord reports whether text begins with a letter or digit.
func isWord(text string) bool {
	return wordStart.MatchString(text)
}

// call is an operator with its arguments, the groups after "in", the axes after "over", and the
// condition after "where".
type call struct {
	name  string
	args  []ast.Expr
	in    string // "" is the rows in sight
	over  []string
	where ast.Expr // nil is all rows
}

// splitCall takes a call apart.
func splitCall(c *ast.CallExpr) (*call, error) {
	name, ok := c.Fun.(*ast.Ident)
	if !ok {
		return nil, fmt.Errorf("a call of something without a name")
	}
	out := &call{name: name.Name}
	if name.Name == ifName {
		out.name = "if"
	}
	part := ""
	for _, arg := range c.Args {
		id, isName := arg.(*ast.Ident)
		switch {
		case isName && (id.Name == inMark || id.Name == overMark || id.Name == whereMark):
			if part == whereMark || part == overMark && id.Name == inMark {
				return nil, fmt.Errorf("%s: want in, over and where in this order", out.name)
			}
			part = id.Name
		case part == inMark && isName && out.in == "":
			out.in = id.Name
		case part == inMark:
			return nil, fmt.Errorf("%s: want the name of groups after in", out.name)
		case part == overMark && isName:
			out.over = append(out.over, id.Name)
		case part == overMark:
			return nil, fmt.Errorf("%s: want names of columns after over", out.name)
		case part == whereMark && out.where == nil:
			out.where = arg
		case part == whereMark:
			return nil, fmt.Errorf("%s: want one condition after where", out.name)
		default:
			out.args = append(out.args, arg)
		}
	}
	if part == inMark && out.in == "" || part == overMark && out.over == nil || part == whereMark && out.where == nil {
		return nil, fmt.Errorf("%s: want something after in, over and where", out.name)
	}
	return out, nil
}

// expression is a parsed expression and its text.
type expression struct {
	text string
	tree ast.Expr
}

// inWords replaces what a text cannot spell in the parser's messages.
var inWords = strings.NewReplacer(inMark, "in", overMark, "over", whereMark, "where", ifName, "if",
	"missing ',' before newline in argument list", "a ) is missing")

// parse parses an expression. Names are checked later, by names.check.
func parse(text string) (expression, error) {
	tree, err := parser.ParseExpr(respell(text))
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), ": ")
		return expression{}, fmt.Errorf("%q: not an expression: %s", text, inWords.Replace(reason))
	}
	e := expression{text, tree}
	ast.Inspect(tree, func(n ast.Node) bool {
		if err == nil {
			err = allowed(n)
		}
		return err == nil
	})
	if err != nil {
		return e, fmt.Errorf("%q: %w", text, err)
	}
	return e, nil
}

var operators = []token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.LAND, token.LOR, token.NOT,
	token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}

// allowed refuses what Go's grammar has and this language has not.
func allowed(n ast.Node) error {
	switch n := n.(type) {
	case nil, *ast.Ident, *ast.ParenExpr, *ast.SelectorExpr:
	case *ast.BasicLit:
		if n.Kind == token.CHAR || n.Kind == token.IMAG {
			return fmt.Errorf("%s is no value", n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op != token.NOT && n.Op != token.SUB {
			return fmt.Errorf("no operator %s", n.Op)
		}
	case *ast.BinaryExpr:
		if !slices.Contains(operators, n.Op) {
			return fmt.Errorf("no operator %s, want one of + - * / and or not == != < <= > >=", n.Op)
		}
	case *ast.CallExpr:
		_, err := splitCall(n)
		return err
	default:
		return fmt.Errorf("want numbers, durations, texts, names, operators and calls")
	}
	return nil
}

// template is a text with expressions in braces.
type template struct {
	text   string
	pieces []any // string or expression
}

func parseTemplate(text string) (template, error) {
	t := template{text: text}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			t.pieces = append(t.pieces, before)
		}
		if !found {
			break
		}
		inside, behind, closed := cutExpression(after)
		if !closed {
			return t, fmt.Errorf("%q: a { without its }", text)
		}
		e, err := parse(inside)
		if err != nil {
			return t, err
		}
		t.pieces, rest = append(t.pieces, e), behind
	}
	return t, nil
}

// cutExpression cuts text at the } that ends an expression. Texts in the expression may have braces
// of their own.
func cutExpression(text string) (inside, behind string, closed bool) {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '}':
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}
