.PHONY: check test bench fuzz samples

check: ## what CI runs
	.ci/run

test:
	go test ./...

bench:
	go run ./cmd/tcpwheel wheel bench

fuzz:
	.ci/run fuzz

samples: ## as root: the sample captures, anew
	go run ./cmd/tcpwheel samples --make pcaps/samples
