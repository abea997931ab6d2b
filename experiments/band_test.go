package experiments

import (
	"encoding/json"
	"math"
	"testing"
)

func TestBandsDecideAndPrintTheSame(t *testing.T) {
	for _, c := range []struct {
		band                             Band
		text                             string
		reproduced, differs, notRepeated []float64
	}{
		{Exactly(3, "ticks"), "exactly 3 ticks", []float64{3}, nil, []float64{2.9999, 4}},
		{Within(1250, 25, "ms"), "1250 ± 25 ms", []float64{1225, 1275}, nil, []float64{1224.9, 1275.1}},
		{Within(1, 0, ""), "exactly 1", []float64{1}, nil, []float64{1.001}},
		{WithinPercent(200, 1, "looks/s"), "200 looks/s ± 1 %", []float64{198, 202}, nil, []float64{197.9, 202.1}},
		{Between(3, 7, "times"), "3 to 7 times", []float64{3, 7}, nil, []float64{2.9, 7.1}},
		{AtLeast(10, "%"), "at least 10 %", []float64{10, math.Inf(1)}, nil, []float64{9.9}},
		{AtMost(0.5, ""), "at most 0.5", []float64{0.5, -1}, nil, []float64{0.51}},
		{Above(1, ""), "above 1", []float64{1.1}, nil, []float64{1}},
		{Below(300, "ms"), "below 300 ms", []float64{299}, nil, []float64{300}},
		{Between(3, 7, "times").OrDiffers(Between(1.5, 15, "times")), "3 to 7 times; 1.5 to 15 times differs",
			[]float64{3, 7}, []float64{1.5, 15}, []float64{1, 16}},
		{Whether(true, "%d at once", 4), "4 at once", []float64{0, math.NaN()}, nil, nil},
		{Whether(false, "falling").OrDiffers(Whether(true, "in part")), "falling; in part differs", nil, []float64{0}, nil},
		{Above(1, "").Saying("grows"), "grows", []float64{2}, nil, []float64{1}},
	} {
		if c.band.String() != c.text {
			t.Errorf("the band prints itself as %q, want %q", c.band, c.text)
		}
		for want, numbers := range map[Verdict][]float64{Reproduced: c.reproduced, Differs: c.differs,
			NotReproduced: c.notRepeated} {
			for _, x := range numbers {
				if got := c.band.Judge(Measured(x, "")); got != want {
					t.Errorf("%s: %v is %s, want %s", c.band, x, got, want)
				}
			}
		}
		if _, ok := map[string]bool{"4 at once": true, "falling; in part differs": true}[c.text]; !ok {
			if got := c.band.Judge(MeasuredText("words")); got != NotReproduced {
				t.Errorf("%s: words without a number are %s", c.band, got)
			}
		}
	}
}

func TestOutcomeJudgesClaims(t *testing.T) {
	var o Outcome
	o.Claim(Claim{Measured: Measured(1, ""), Expected: Exactly(2, "")})
	o.Claim(Claim{Measured: Measured(2, ""), Expected: Exactly(2, "")})
	if o.Claims[0].Verdict != NotReproduced || o.Claims[1].Verdict != Reproduced {
		t.Errorf("verdicts %s and %s", o.Claims[0].Verdict, o.Claims[1].Verdict)
	}
	text, err := json.Marshal(o.Claims[0])
	if err != nil {
		t.Fatal(err)
	}
	var back Claim
	if err := json.Unmarshal(text, &back); err != nil || back.Expected.String() != "exactly 2" {
		t.Errorf("read back from %s: expected %q, %v", text, back.Expected, err)
	}
}
