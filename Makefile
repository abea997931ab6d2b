.PHONY: check test bench fuzz

check: ## what CI runs
	.ci/run

test:
	go test ./...

bench:
	go run ./cmd/tcpwheel wheel bench

fuzz:
	.ci/run fuzz
