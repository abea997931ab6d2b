package browser

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"tcpwheel/pcaps/samples"
	"tcpwheel/pcaps/watch"
)

// TestWatchPage opens the page of watch, wide and as on a phone: it shows the snapshot, nothing is
// wider than the screen, and no script fails.
func TestWatchPage(t *testing.T) {
	in, err := samples.Open("burst/a.pcapng.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	w := watch.New(watch.Config{Interface: "eth0"})
	if err := watch.Pipe(t.Context(), w, in, "burst"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // which ends the episodes
		t.Fatal(err)
	}
	want := w.Snapshot().Total.All.Episodes
	if want == 0 {
		t.Fatal("no episodes in the sample")
	}
	s := httptest.NewServer(w.Handler())
	defer s.Close()
	defer s.CloseClientConnections()
	for _, width := range []int64{400, 1400} {
		ctx := open(t, s.URL, width, 900)
		await(t, ctx, strconv.Itoa(want)+" recoveries",
			`document.querySelector("#total tr.all td:nth-child(6)")?.textContent === "`+strconv.Itoa(want)+`"`)
		if wide := evaluate[int64](t, ctx, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d pixels wide, want %d at most", wide, width)
		}
		if hosts := evaluate[string](t, ctx, `document.getElementById("hosts").innerText`); !strings.Contains(hosts, ".") {
			t.Errorf("hosts: %q, want addresses", hosts)
		}
		screenshot(t, ctx, "watch-"+strconv.Itoa(int(width)))
	}
}
