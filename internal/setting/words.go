package setting

import (
	"fmt"
	"strings"
)

// Change is a new value of a setting.
type Change struct{ Name, Text string }

// Words reads the text of a configuration: a name, and then changes in any order.
//
//	NAME@TICK KEY=VALUE +SWITCH -SWITCH
//
// @TICK is short for tick=TICK. A blank, or a + in its place, comes before KEY. Switches need no
// blank: "linux@1ms+rto-min=5ms-tlp". The switches are those of the type of a value. Words does not
// look at keys and values.
func Words(text string, of any) (name string, changes []Change, err error) {
	fs := fieldsOf(typeOf(of))
	for i, word := range strings.Fields(text) {
		parts := fs.cut(word)
		switch key, value, isPair := strings.Cut(parts[0], "="); {
		case i == 0:
			var ticked bool
			if name, value, ticked = strings.Cut(parts[0], "@"); ticked {
				changes = append(changes, Change{"tick", value})
			}
		case isPair:
			changes = append(changes, Change{key, value})
		case parts[0] != "":
			return "", nil, fmt.Errorf("%q, want KEY=VALUE, or + or - with one of %s", word, strings.Join(Switches(of), ", "))
		}
		for _, part := range parts[1:] {
			key, value, isPair := strings.Cut(part[1:], "=")
			if !isPair {
				value = fmt.Sprint(part[0] == '+')
			}
			changes = append(changes, Change{key, value})
		}
	}
	return name, changes, nil
}

// cut cuts a word before each "+SWITCH", "-SWITCH" and "+KEY=".
func (fs *fields) cut(word string) (parts []string) {
	from := 0
	for i := 0; i < len(word); i++ {
		if word[i] == '+' && hasKey(word[i+1:]) || (word[i] == '+' || word[i] == '-') && fs.hasSwitch(plain(word[i+1:])) {
			parts, from = append(parts, word[from:i]), i
		}
	}
	return append(parts, word[from:])
}

// hasKey reports whether text begins with KEY=.
func hasKey(text string) bool {
	key, _, ok := strings.Cut(text, "=")
	return ok && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

// hasSwitch reports whether text begins with the name of a switch, and then ends or goes on with +
// or -.
func (fs *fields) hasSwitch(text string) bool {
	for name, f := range fs.byName {
		after, ok := strings.CutPrefix(text, name)
		if ok && f.Kind == "switch" && (after == "" || after[0] == '+' || after[0] == '-') {
			return true
		}
	}
	return false
}

// Apply makes changes to the struct that into points to, one after another, up to the first error.
func Apply(into any, changes []Change) error {
	for _, c := range changes {
		if err := Set(into, c.Name, c.Text); err != nil {
			return err
		}
	}
	return nil
}

// Split divides changes by whether they are of settings of a type.
func Split(changes []Change, of any) (own, others []Change) {
	for _, c := range changes {
		if _, ok := Find(of, c.Name); ok {
			own = append(own, c)
		} else {
			others = append(others, c)
		}
	}
	return own, others
}
