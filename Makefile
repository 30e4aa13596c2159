.PHONY: run test

run: ## Prepare everything and serve Berth on this machine
	@config/bin/run

test: ## Run every check and test; JUST="tests/config -k urls" runs these only
	@config/bin/test $(JUST)
