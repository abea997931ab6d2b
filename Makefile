.PHONY: check test bench speed fuzz samples results release site

check: ## what CI runs
	.ci/run

test:
	go test ./...

bench:
	go run ./cmd/tcpwheel wheel bench

speed: ## the table of docs/performance.md and its figures, on this machine; as root also over TUN
	go run ./experiments/internal/speed -figures docs/figures

fuzz:
	.ci/run fuzz

samples: ## as root: the sample captures, anew
	go run -C netstack/programs ./samples ../../pcaps/samples

results: ## the results in docs/results.md, docs/figures, the studies' READMEs and experiments/sums.txt, anew: twelve minutes
	rm -rf report
	go run ./cmd/tcpwheel experiment run --all --out report
	go run ./cmd/tcpwheel experiment docs report

release: ## archives of the program with its manual and completions, for six systems, and SHA256SUMS, in ./dist
	.ci/release dist

site: ## the static page: a folder for any web server, and tcpwheel.html to mail, in ./site
	go run ./cmd/tcpwheel/internal/site/make site
