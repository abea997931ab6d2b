package replay

import "testing"

// TestFar: a validation lists the losses that are far off, the farthest first, and says where other
// timers are why.
func TestFar(t *testing.T) {
	st := &Study{Choices: choices(t, "linux", "bsd")}
	results := study(t, st, true)
	for i, want := range []bool{false, true} {
		v, err := st.Validate(results, i)
		if err != nil {
			t.Fatal(err)
		}
		far := v.Far()
		if len(far) > 0 != want {
			t.Errorf("%s: %d losses are far off, want some: %v", v.Policy, len(far), want)
		}
		timers := 0
		for k, f := range far {
			l := f.Loss()
			if f.Off <= mostP95 || k > 0 && f.Off > far[k-1].Off || f.Repaired && (f.TRec-l.TRec).Abs() <= l.TRec/10 {
				t.Errorf("%s: the %d. is off by %.3f: %v, want %v", v.Policy, k, f.Off, f.TRec, l.TRec)
			}
			if f.Why == WhyTimer {
				timers++
			}
		}
		if want && timers*4 < len(far)*3 {
			t.Errorf("%s: the timers are why for %d of %d", v.Policy, timers, len(far))
		}
	}
}
