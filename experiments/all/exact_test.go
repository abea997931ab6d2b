package all

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// machineMath matches functions whose last digit, or whose random draws, depend on the processor.
// Package stat has replacements.
var machineMath = regexp.MustCompile(`^(math\.(Exp2?|Expm1|Log(2|10|1p)?|Pow|Cbrt|Sincos|Sinh?|Cosh?|Tanh?|Hypot)` +
	`|math\.(Erf.*|L?[gG]amma)|rand\.(Norm|Exp)Float64|.*\.(NormFloat64|ExpFloat64))$`)

// TestSameOnAllMachines finds calls of machineMath in the studies. The step "fused" of .ci/run
// finds the other source of differences: a product and a sum that are rounded once.
func TestSameOnAllMachines(t *testing.T) {
	allowed := map[string]string{
		"outcome.go": "math.Log10", // counts digits
	}
	root := os.DirFS("..")
	seen := 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := sel.X.(*ast.Ident)
			call := "?." + sel.Sel.Name
			if x != nil {
				call = x.Name + "." + sel.Sel.Name
			}
			if !machineMath.MatchString(call) {
				return true
			}
			for pattern, only := range allowed {
				if ok := matches(pattern, name); ok && (only == "" || only == call) {
					return true
				}
			}
			t.Errorf("experiments/%s: %s differs from machine to machine: see wheel/stat", files.Position(n.Pos()),
				call)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Errorf("%d files were read", seen)
	}
}

func matches(pattern, name string) bool {
	return pattern == name || strings.HasSuffix(pattern, "/*") && strings.HasPrefix(name,
		strings.TrimSuffix(pattern, "*"))
}
