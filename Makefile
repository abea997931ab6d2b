# What CI runs (.ci/run), a line for each step, and what a release needs.
.PHONY: check modules programs fmt vet lint systems race small fuzz peers studies test soak fused release bench speed samples results site

MODULES = . wheel/peers netstack/programs cmd/tcpwheel/browser
EACH = set -e; for m in $(MODULES); do
STATICCHECK = go tool -modfile=.ci/tools.mod staticcheck
# Packages whose code or tests start goroutines, and what a page in a browser can use.
CONCURRENT = $(shell grep -rlwE 'synctest|go func|net/http|WaitGroup' --include='*.go' wheel netstack tun pcaps experiments/internal cmd | \
	grep -vE 'programs/|browser/|peers/|testdata/|wasm/' | xargs -n1 dirname | sort -u | sed 's,^,./,')
# The longest tests that one goroutine runs, or that repeat what others run: searches, memory, determinism. The race detector learns
# nothing from them. A program that it watches ends a second late unless GORACE forbids it.
ALONE = TestSchemesAgreeWithTheTwin|TestCalloutsDoNotAllocate|TestLazyMemoryStaysBounded|TestTreeDegenerateDoesNotRecurse|$\
	TestCalendarResizesWithoutAllocating|TestALongGapVisitsEveryTimerInOrder|TestTransmissions(AreBounded|AgreeWithTheirTwin)|$\
	TestGVisorRetractsItsWindow|TestPolicies|TestCaptureIsBounded|TestFollowMemory|TestLosslessCaptures|TestIdle|$\
	TestBuffersAreBounded|TestTimeWait(Table|ShrinksTheWheel)|TestSmallSegmentsHoldLittle|$\
	TestRecvQueue|TestRunsAreIdentical|TestMemoryIsBounded|TestShield|TestSubjectsMeetTheSame
BROWSER = ./wheel/... ./tcptimers/... ./netstack/... ./pcaps/... ./cmd/tcpwheel/internal/lanes ./cmd/tcpwheel/internal/site/wasm
CORE = ./wheel ./wheel/stat ./tcptimers ./netstack/tcp/... ./netstack/sim
PROGRAMS = curl iperf3 tcpdump chromium slurm-wlm munge

check: ; .ci/run ## what CI runs
modules: ; @$(EACH) go -C $$m list -deps -test ./... >/dev/null; done; go list -modfile=.ci/tools.mod -deps tool >/dev/null
programs: ; @.ci/programs $(PROGRAMS) ## what some tests talk to; without it they skip
fmt: ; @test -z "$$(gofmt -l . | tee /dev/stderr)"
vet: ; @$(EACH) go -C $$m vet ./...; done
lint: ; @$(STATICCHECK) ./...
systems: ; @GOOS=js GOARCH=wasm go vet $(BROWSER) && for s in darwin windows freebsd; do GOOS=$$s CGO_ENABLED=0 go vet ./... || exit 1; done
race: ; @GORACE=atexit_sleep_ms=10 TCPWHEEL_LONG= go test -race -short -vet=off -timeout 15m -skip '^($(ALONE))$$' $(CONCURRENT)
small: ; @TCPWHEEL_LONG= CGO_ENABLED=0 GOARCH=386 go test -short -vet=off $(CORE) ## with integers of 32 bits
fuzz: ; @.ci/fuzz 2 ## each target for that many seconds
peers: ; @set -e; for m in $(wordlist 2,9,$(MODULES)); do go -C $$m test ./...; done; go -C wheel/peers test -run '^$$' -bench '.*/.*/n=1000$$' -benchtime 1x .
studies: ; @out=$$(mktemp -d) && go run ./cmd/tcpwheel experiment run --all --quick --out $$out/quick >/dev/null; s=$$?; rm -rf $$out; exit $$s
test: ; @go test ./...
soak: ; @go test -timeout 8m ./tun/interop -run '^Test(Soak|Churn)$$' -soak 30s -churn 30s
fused: ; @.ci/fused ## a study's last digit must not depend on the processor
release: systems fused ; .ci/release dist ## archives of the program and its completions, for six systems, in ./dist
bench: ; go run ./cmd/tcpwheel wheel bench
speed: ; experiments/speed.sh ## benchmarks of this machine next to their peers; as root also over TUN
samples: ; go run -C netstack/programs ./samples ../../pcaps/samples && cd pcaps/samples && sha256sum */*.gz > SHA256SUMS ## as root: the sample captures
results: ; rm -rf report; go run ./cmd/tcpwheel experiment run --all --out report && go run ./experiments/report/write report ## the studies' documents
site: ; go run ./cmd/tcpwheel/internal/site/make site ## the static page, in ./site
