package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, key string
		want         bool
	}{
		{"a/*.pcap", "a/x.pcap", true},
		{"a/*.pcap", "a/b/x.pcap", false},
		{"a/**/*.pcap", "a/x.pcap", true},
		{"a/**/*.pcap", "a/b/c/x.pcap", true},
		{"**", "a/b", true},
		{"a/**", "b/a", false},
		{"2026-0[1-3]/?.pcap", "2026-02/x.pcap", true},
		{"2026-0[1-3]/?.pcap", "2026-04/x.pcap", false},
		{"a/[", "a/[", false},
		{"a", "a/b", false},
		{"a/b*", "a", false},
	} {
		if got := match(c.pattern, c.key); got != c.want {
			t.Errorf("match(%q, %q) = %v, want %v", c.pattern, c.key, got, c.want)
		}
	}
}

// names returns the names of objects below a folder, "+" after names found in a folder.
func names(dir string, all []Object) string {
	var out []string
	for _, o := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(o.Name, dir), "/")
		if o.Listed {
			name += "+"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestListFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/2", "b/1", "b/c/[x]", "a", ".hidden", ".git/config", "d/e/f/1"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("text"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ inputs, want string }{
		{"", "a+ b/1+ b/2+ b/c/[x]+ d/e/f/1+ link+"},
		{"/b", "b/1+ b/2+ b/c/[x]+"},
		{"/b/", "b/1+ b/2+ b/c/[x]+"},
		{"/./b", "b/1+ b/2+ b/c/[x]+"},
		{"/**/1", "b/1 d/e/f/1"},
		{"/?/1", "b/1"},
		{"/b/c/[x]", "b/c/[x]"},
		{"/b /b/1 /a", "b/1+ b/2+ b/c/[x]+ a"},
		{"/none", "none"},
	} {
		var inputs []string
		for _, input := range strings.Split(c.inputs, " ") {
			inputs = append(inputs, dir+input)
		}
		all, err := List(t.Context(), inputs, Options{})
		if got := names(dir, all); err != nil || got != c.want {
			t.Errorf("List(%q) = %q, %v, want %q", c.inputs, got, err, c.want)
		}
		for _, o := range all {
			if o.Size != 4 && o.Size != -1 || o.Size == 4 && o.Tag == "" {
				t.Errorf("%s: %d bytes, tag %q", o.Name, o.Size, o.Tag)
			}
		}
	}
	t.Chdir(dir)
	if all, err := List(t.Context(), []string{"*/1", "./b/c"}, Options{}); err != nil || names("", all) != "b/1 b/c/[x]+" {
		t.Errorf("in the folder: %q, %v", names("", all), err)
	}
}
