package wheel

import (
	"testing"
	"time"
)

// BenchmarkRealtime measures what starting, stopping and moving a timer costs the caller,
// compared with the runtime's timers. reset-earliest sets the clock each time, the others never.
func BenchmarkRealtime(b *testing.B) {
	nop := func() {}
	b.Run("op=start-stop/impl=realtime", func(b *testing.B) {
		rt := startTest(b, RealtimeConfig{})
		rt.AfterFunc(time.Minute, nop)
		b.ReportAllocs()
		for b.Loop() {
			rt.AfterFunc(time.Hour, nop).Stop()
		}
	})
	b.Run("op=start-stop/impl=runtime", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			time.AfterFunc(time.Hour, nop).Stop()
		}
	})
	b.Run("op=reset/impl=realtime", func(b *testing.B) {
		rt := startTest(b, RealtimeConfig{})
		rt.AfterFunc(time.Minute, nop)
		tm := rt.AfterFunc(time.Hour, nop)
		b.ReportAllocs()
		for b.Loop() {
			tm.Reset(time.Hour)
		}
	})
	b.Run("op=reset/impl=runtime", func(b *testing.B) {
		tm := time.AfterFunc(time.Hour, nop)
		defer tm.Stop()
		b.ReportAllocs()
		for b.Loop() {
			tm.Reset(time.Hour)
		}
	})
	b.Run("op=reset-earliest/impl=realtime", func(b *testing.B) {
		rt := startTest(b, RealtimeConfig{})
		tm := rt.AfterFunc(time.Hour, nop)
		d := 2 * time.Hour
		b.ReportAllocs()
		for b.Loop() {
			d -= time.Millisecond
			tm.Reset(d)
		}
	})
}
