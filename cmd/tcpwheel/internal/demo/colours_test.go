package demo

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What people see with three kinds of colour blindness, of linear RGB (Machado, Oliveira and
// Fernandes, 2009).
var eyes = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// linear returns a colour such as a82a00 as linear RGB.
func linear(t *testing.T, hex string) (rgb [3]float64) {
	t.Helper()
	for i := range rgb {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if c := float64(n) / 255; c <= 0.04045 {
			rgb[i] = c / 12.92
		} else {
			rgb[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return rgb
}

// lab returns what an eye makes of a colour, in CIELAB.
func lab(rgb [3]float64, eye [3][3]float64) (out [3]float64) {
	var seen [3]float64
	for i := range seen {
		for j := range rgb {
			seen[i] += eye[i][j] * rgb[j]
		}
		seen[i] = min(max(seen[i], 0), 1)
	}
	xyz := [3]float64{
		(0.4124*seen[0] + 0.3576*seen[1] + 0.1805*seen[2]) / 0.95047,
		0.2126*seen[0] + 0.7152*seen[1] + 0.0722*seen[2],
		(0.0193*seen[0] + 0.1192*seen[1] + 0.9505*seen[2]) / 1.08883,
	}
	for i, v := range xyz {
		if xyz[i] = 7.787*v + 16.0/116; v > 0.008856 {
			xyz[i] = math.Cbrt(v)
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// TestColoursTellApart compares all colours of the diagrams in both themes, as seen by four kinds
// of eyes: they differ by more than twice of what is just noticeable. Those of retransmissions,
// which have one shape, differ by ten times that.
func TestColoursTellApart(t *testing.T) {
	themes := strings.SplitN(pageCSS, "prefers-color-scheme: dark", 2)
	if len(themes) != 2 {
		t.Fatal("the page has no dark theme")
	}
	const noticeable = 2.3
	variable := regexp.MustCompile(`--(rexmit|delack|keep|probe|other|ack): #([0-9a-f]{6});`)
	for i, name := range []string{"light", "dark"} {
		all := variable.FindAllStringSubmatch(themes[i], -1)
		if len(all) != 6 {
			t.Fatalf("the theme %s has %d colours, want 6", name, len(all))
		}
		for eye, matrix := range eyes {
			for k, a := range all {
				for _, b := range all[:k] {
					x, y := lab(linear(t, a[2]), matrix), lab(linear(t, b[2]), matrix)
					far, want := math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2]), 2*noticeable
					if a[1] == "probe" && b[1] == "rexmit" {
						want = 10 * noticeable
					}
					if far < want {
						t.Errorf("%s, %s: %s and %s are %.1f apart, want %.1f", name, eye, a[1], b[1], far, want)
					}
				}
			}
		}
	}
}

// TestKindsHaveShapes wants another shape for each kind of timer in the legend.
func TestKindsHaveShapes(t *testing.T) {
	seen := map[string]string{}
	kinds := regexp.MustCompile(`(?m)^  \["([^"]+)", "(\w+)", "(\w+)", `).FindAllStringSubmatch(wordsJS, 6)
	if len(kinds) != 6 {
		t.Fatalf("%d kinds, want 6", len(kinds))
	}
	for _, k := range kinds {
		if other := seen[k[3]]; other != "" {
			t.Errorf("the timers %s and %s have one shape, %s", k[1], other, k[3])
		}
		seen[k[3]] = k[1]
	}
}
