package tcpwheel_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The examples of this file must not be read as citations of this file.
var rfcIn = strings.NewReplacer("R_C", "RF"+"C").Replace

func TestCitationsAreRead(t *testing.T) {
	for _, test := range []struct {
		src  string
		want []string
	}{
		{"// R_C 6298 §5 (5.5): \"The host MUST ...\"", []string{"6298 §5"}},
		{"// R_C 9293 §3.8.3 (MUST-20): past R2 ...", []string{"9293 §3.8.3"}},
		{"// DEVIATION R_C 6298 §2 (2.4), SHOULD: the floor is 200 ms.", []string{"6298 §2"}},
		{"// as R_C 6298 asks, R_C 9293 §3.4.1.", []string{"6298", "9293 §3.4.1"}},
		{"// R_C 7323 §4.2, §A.1 and §5: timestamps", []string{"7323 §4.2", "7323 §A.1", "7323 §5"}},
		{"// (R_C 6298 §5, and R_C 8985 §7.2)", []string{"6298 §5", "8985 §7.2"}},
		{"// the rule of R_C\n// 6298 §5 holds", []string{"6298 §5"}},
		{"// the rule of R_C 6298\n// §5 holds", []string{"6298 §5"}},
		{"/* R_C 5681\n§3.1 */", []string{"5681 §3.1"}},
		{"var s = \"R_C 5961 §3: challenge ACK\"", []string{"5961 §3"}},
		{"// the paper, §5, says what TestR_C6298 tests; see rfc6298", nil},
	} {
		cited, problems, err := readCitations(mapFS(map[string]string{"p.go": rfcIn("package p\n\n" + test.src + "\n")}))
		if err != nil || len(problems) > 0 {
			t.Errorf("citations of %q: %v, %q", test.src, err, problems)
		}
		var got []string
		for _, c := range cited {
			got = append(got, strings.TrimPrefix(c.String(), rfcIn("R_C ")))
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("citations of %q = %q, want %q", test.src, got, test.want)
		}
	}
}

func TestCitationsThatCannotBeFollowed(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"// R_C 67298 §5: N3 cites this one", "67298 is not listed"},
		{"// R_C 793 §3.9", "793 is obsolete: cite R_C 9293"},
		{"// R_C 6937 in short", "6937 is obsolete: cite R_C 9937"},
		{"var s = `R_C 2988`", "2988 is obsolete: cite R_C 6298"},
		{"// R_C6298 §5", `"R_C6298": write R_C n §m`},
		{"// R_C-6298", `"R_C-6298": write R_C n §m`},
		{"// R_C  6298", "with one space"},
		{"// R_Cs 6298 and 9293", "R_C before each number"},
		{"// R_C 6298 section 5", "6298 section 5: write R_C 6298 §m"},
		{"// R_C 6298, Section 5", "write R_C 6298 §m"},
		{"// R_C 7323 Appendix A", "write R_C 7323 §m"},
		{"// R_C 6298, §5", "write R_C 6298 §m"},
		{"// R_C 6298§5", "malformed section"},
		{"// R_C 6298 § 5", "malformed section"},
		{"// R_C 6298 §§2.1", "malformed section"},
		{"// R_C 6298 §(5.5)", "malformed section"},
		{"// R_C 6298 §5a", "malformed section"},
		{"// R_C 6298 §five", "malformed section"},
		{"// R_C 6298 §5 and §x", "malformed section"},
	} {
		_, problems, err := readCitations(mapFS(map[string]string{"p.go": rfcIn("package p\n\n" + test.src + "\n")}))
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, problems, rfcIn(test.want))
	}
}

func TestCitationsOfCodeWithoutTest(t *testing.T) {
	cited, _, err := readCitations(mapFS(map[string]string{
		"p.go":      rfcIn("package p\n\n// R_C 6298 §5\n\n// R_C 6298 §2 and §2\n\n// R_C 5681 §4\n\n// R_C 9293\n"),
		"p_test.go": rfcIn("package p\n\n// R_C 6298 §5\n\n// R_C 1122 §4\n"),
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range untested(cited) {
		got = append(got, fmt.Sprintf("%s %s", c.pos, c))
	}
	want := []string{rfcIn("p.go:7 R_C 5681 §4"), rfcIn("p.go:5 R_C 6298 §2")}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("untested = %q, want %q", got, want)
	}
}

// TestCitationsOfScenarios reads a scenario. Its comments run over lines and follow events.
func TestCitationsOfScenarios(t *testing.T) {
	cited, problems, err := readCitations(mapFS(map[string]string{"testdata/a.pkt": rfcIn(
		"// R_C 9293 §3.5: a SYN, as R_C\n// 5681 §4.2 has it\n0 < S 0:0(0) // R_C 793 §3.3\n")}))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(cited, problems)
	want := rfcIn("[R_C 9293 §3.5 R_C 5681 §4.2] [testdata/a.pkt:3: R_C 793 is obsolete: cite R_C 9293]")
	if got != want || len(untested(cited)) != 0 {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
