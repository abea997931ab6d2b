package testnet_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tcpwheel/netstack/testnet"
)

func get(client *http.Client, url string) (int, error) {
	r, err := client.Get(url)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	n, err := io.Copy(io.Discard, r.Body)
	return int(n), err
}


func TestHTTP(t *testing.T) {
	for seed := range testnet.Seed(5) {
		synctest.Test(t, func(t *testing.T) {
			net := testnet.New(t, testnet.Path{Delay: 20 * time.Millisecond, Loss: "5%"}, seed)
			go http.Serve(net.Listen(":80"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, strings.Repeat("x", 100000))
			}))
			client := net.HTTPClient()
			for range 20 {
				if n, err := get(client, "http://server/"); n != 100000 || err != nil {
					t.Fatal(n, err)
				}
			}
			fmt.Println(net.Now(), net.Counts())
		})
	}
}
