# The commands of this repository; `make` alone lists them. Nothing but Go is needed beforehand:
# what else a command uses is built into bin/ first.
SHELL := bash
TOOLS := bin/golangci-lint bin/workflowcheck

.PHONY: help run kill-demo chaos clock-jump test check fmt vet lint determinism drift bench record build module-path clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start everything on this machine (ARGS="--memory --api 127.0.0.1:9000", --help tells all)
	@go build -o bin/longhaul-dev ./dev
	@trap : INT; bin/longhaul-dev $(ARGS)

kill-demo: ## kill workers while a batch runs, and count what is paid for twice: nothing (half a minute)
	@go build -o bin/longhaul-dev ./dev
	@bin/longhaul-dev kill-demo

chaos: bin/longhaul-temporal ## kill everything at random for MINUTES=10 over TASKS=200 of all kinds (SEED=1 repeats a run)
	go test -count 1 -timeout 0 -v -run '^TestChaos$$' ./e2e -args -minutes $(or $(MINUTES),10) -tasks $(or $(TASKS),200) -seed $(or $(SEED),0)

clock-jump: ## set the clock of all programs while tasks run; builds them all with another time.Now, which takes 10 minutes the first time
	go test -count 1 -timeout 0 -v -run '^TestClockJump$$' ./e2e -args -clock-jump

test: bin/longhaul-temporal ## run all tests, with the race detector, against a real Temporal
	go test -race -count 1 -timeout 40m $$(go list ./... | grep -v '/e2e$$')
	go test -race -count 1 -timeout 60m ./e2e # alone, because it needs the whole machine; never cached, because the cache does not see the programs that it runs
	go test -C temporal ./...

check: fmt vet lint determinism drift ## everything a change must pass, but the tests

fmt: $(TOOLS) ## fail on files that are not formatted (FIX=1 formats them)
	bin/golangci-lint fmt $(if $(FIX),,--diff)

vet: ## go vet, in all modules
	go vet ./...
	go vet -C temporal ./...
	go vet -C e2e/peers ./...
	go vet -C examples/go-client ./...

lint: $(TOOLS) ## the linters of .golangci.yml
	bin/golangci-lint run ./...

determinism: $(TOOLS) ## fail on workflow code that would not replay
	bin/workflowcheck -test=false ./workflows/...

drift: ## fail when a module file or a generated file is behind the code
	go mod tidy -diff
	go -C temporal mod tidy -diff
	go -C tools mod tidy -diff
	go -C e2e/peers mod tidy -diff
	go -C examples/go-client mod tidy -diff
	go test -run 'Example|Spec|Docs' ./internal/config ./api/server ./internal/llm/openai ./internal/video/wire

bench: bin/longhaul-temporal ## measure batch efficiency and recovery
	go test -run '^$$' -bench . -benchtime 1x -timeout 60m ./e2e

record: bin/longhaul-temporal ## record histories for the replay test (KIND=summary for one kind)
	go test -count 1 -run TestRecord ./e2e -args -record '$(or $(KIND),all)'

build: bin/longhaul-temporal ## build the programs into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./api ./worker ./dev
	CGO_ENABLED=0 go build -trimpath -o bin/longhaul ./starter

module-path: SHELL := /bin/sh # found without PATH, which is the new name here
module-path: ## rename the module for its publisher: PATH=host/owner/name
	@/bin/sh tools/module-path '$(if $(filter command,$(origin PATH)),$(PATH))'

bin/longhaul-temporal: $(wildcard temporal/*.go) temporal/go.mod
	@echo "Building the Temporal server: 3 to 6 minutes on two cores, the first time."
	go build -C temporal -o ../$@ .

$(TOOLS) &: tools/go.mod
	GOBIN=$(CURDIR)/bin go -C tools install tool

clean: ## remove what was built; ./data stays
	rm -rf bin
