package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

// TestLosslessCaptures: a complete capture of a path without loss has no copies, no retransmissions,
// and lacks nothing. No packet of it has an IP identification.
func TestLosslessCaptures(t *testing.T) {
	for _, test := range []struct {
		size, gets int
		keep       bool // one connection
	}{{30_000, 100, false}, {30_000, 100, true}, {1000, 100, false}, {1 << 20, 3, true}} {
		t.Run(fmt.Sprintf("%d bytes, keep=%v", test.size, test.keep), func(t *testing.T) {
			var file bytes.Buffer
			synctest.Test(t, func(t *testing.T) {
				n := testnet.New(t, testnet.Path{Delay: 50 * time.Millisecond, Rate: "100Mbit"}, testnet.Seed(1))
				go http.Serve(n.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					io.WriteString(w, strings.Repeat("x", test.size))
				}))
				client := n.HTTPClient()
				client.Transport.(*http.Transport).DisableKeepAlives = !test.keep
				for range test.gets {
					answer, err := client.Get("http://server/")
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.Copy(io.Discard, answer.Body)
					if answer.Body.Close(); err != nil || got != int64(test.size) {
						t.Errorf("%d bytes, %v", got, err)
					}
				}
				if err := n.Host(testnet.Client).WriteCapture(&file); err != nil {
					t.Error(err)
				}
			})
			wantNothingLost(t, &file)
		})
	}
}

func wantNothingLost(t *testing.T, file io.Reader) {
	t.Helper()
	var out, talk bytes.Buffer
	if status := run([]string{"analyze", "--json", "-"}, file, &out, &talk); status != exitOK {
		t.Fatalf("status %d, %s", status, &talk)
	}
	conns := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, `{"type":"connection"`) {
			conns++
			if strings.Contains(line, `"copies"`) || strings.Contains(line, `"lacking"`) || strings.Count(line, `"retransmissions":0,`) != 2 {
				t.Error(line)
			}
		}
	}
	if conns == 0 {
		t.Error("no connection")
	}
}
