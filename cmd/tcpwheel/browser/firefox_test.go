package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// driver is a page that uses the static page in a frame as a user would: it drops a file that is no
// capture, then one, saves its JSON, and looks at the demo. It sends what it saw to the test.
const driver = `<!doctype html><meta charset="utf-8"><iframe src="/index.html" style="width:1300px;height:900px"></iframe><script>
const frame = document.querySelector("iframe"), seen = {};
const until = async (what, ok) => { for (let n = 0; n < 1200; n++) { if (ok()) return; await new Promise(r => setTimeout(r, 100)); } throw new Error("no " + what); };
frame.onload = async () => {
	try {
		const w = frame.contentWindow, d = w.document, made = w.URL.createObjectURL.bind(w.URL), state = () => d.getElementById("s-state").textContent;
		let saved;
		w.URL.createObjectURL = blob => { saved = blob; return made(blob); };
		const drop = async (name, bytes) => {
			const data = new w.DataTransfer();
			data.items.add(new w.File([bytes], name));
			d.body.dataset.done = "";
			d.body.dispatchEvent(new w.DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
			await until("end of " + name, () => ["replay", "failed"].includes(d.body.dataset.done));
			return d.body.dataset.done + ": " + state();
		};
		seen.text = await drop("text.pcap", new TextEncoder().encode("this is no capture at all"));
		seen.whole = await drop("whole.pcapng.gz", await (await fetch("/whole")).arrayBuffer());
		seen.diagrams = d.querySelectorAll("#s-report svg.fig, #s-replay svg.fig").length;
		seen.wide = d.documentElement.scrollWidth;
		d.querySelector("[data-what=json]").click();
		seen.json = await saved.text();
		d.getElementById("s-tab-demo").click();
		await until("run of the demo", () => d.querySelectorAll(".lane").length === 2 && /repair/.test(d.querySelector("#verdict").textContent));
		seen.demo = d.querySelector("#verdict").textContent;
	} catch (wrong) { seen.wrong = String(wrong); }
	fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
};
</script>`

// TestSiteInFirefox uses the static page in Firefox: it gives the command's bytes there too.
func TestSiteInFirefox(t *testing.T) {
	program, err := exec.LookPath("firefox-esr")
	if err != nil {
		if program, err = exec.LookPath("firefox"); err != nil {
			t.Skip("no Firefox: install firefox-esr to test the page in it")
		}
	}
	packed := sample(t, "burst/a.pcapng.gz")
	told := make(chan map[string]any, 1)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(siteDir(t))))
	mux.HandleFunc("/driver", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, driver) })
	mux.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) { w.Write(packed) })
	mux.HandleFunc("/seen", func(_ http.ResponseWriter, r *http.Request) {
		var seen map[string]any
		if err := json.NewDecoder(r.Body).Decode(&seen); err != nil {
			t.Error(err)
		}
		told <- seen
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	firefox := exec.CommandContext(t.Context(), program, "--headless", "--no-remote", "--profile", t.TempDir(), web.URL+"/driver")
	firefox.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := firefox.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { firefox.Process.Kill(); firefox.Wait() })
	var seen map[string]any
	select {
	case seen = <-told:
	case <-time.After(5 * time.Minute):
		t.Fatal("Firefox sends nothing within 5 minutes")
	}
	if wrong := seen["wrong"]; wrong != nil {
		t.Fatalf("in Firefox: %v; seen: %.500v", wrong, seen)
	}
	for name, want := range map[string]string{"text": "failed: text.pcap", "whole": "replay: whole.pcapng.gz: done", "demo": "repair"} {
		if got := fmt.Sprint(seen[name]); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
	if n := seen["diagrams"].(float64); n < 8 {
		t.Errorf("%v diagrams, want 8 or more", n)
	}
	if wide := seen["wide"].(float64); wide > 1300 {
		t.Errorf("the page is %v pixels wide, want 1300 at most", wide)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("whole.pcapng.gz", packed, 0o666); err != nil {
		t.Fatal(err)
	}
	if want := printed(t, "analyze", "--json", "whole.pcapng.gz"); seen["json"] != want || want == "" {
		t.Errorf("the page's JSON differs from the command's:\n%.1000v\nwant\n%.1000s", seen["json"], want)
	}
	t.Logf("%v; %v", seen["whole"], seen["demo"])
}
