.PHONY: run upgrade test backup sbom install-service uninstall-service uninstall

run: ## Prepare everything and serve Berth on this machine
	@config/bin/run

upgrade: ## Bring a running installation to the version of this checkout; agents and requests go on
	@config/bin/upgrade

test: ## Run every check and test; JUST="tests/config -k urls" runs these only, COVERAGE=yes measures coverage, too
	@config/bin/test $(JUST)

backup: ## Write the database to one archive while everything runs; TO="FILE --with-keys FILE --with-memory" says where and what
	@config/bin/manage backup $(TO)

sbom: ## Write a software bill of materials of the service and of each agent image to var/sbom
	@config/bin/sbom

install-service: ## Start Berth with this machine (systemd), with the agents' network closed until its rules are set
	@config/bin/install-service

uninstall-service: ## Take the units away again; the data, the settings and the agents stay
	@config/bin/uninstall-service

uninstall: ## Take away Berth's containers, networks and rules; WHAT="--volumes --images --data" says what else, --dry-run only tells
	@config/bin/uninstall $(WHAT)
