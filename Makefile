.PHONY: run upgrade test backup sbom install-service uninstall-service uninstall

run: ## Prepare everything and serve Berth on this machine
	@config/bin/run

upgrade: ## Bring a running installation to the version of this checkout; agents and requests continue
	@config/bin/upgrade

test: ## Run every check and the tests whose turn it is; JUST="tests/config -k urls" runs only these, COVERAGE=yes also measures coverage
	@config/bin/test $(JUST)

backup: ## Write the database to one archive while everything runs; TO="FILE --with-keys FILE --with-memory" chooses the files and contents
	@config/bin/manage backup $(TO)

sbom: ## Write a software bill of materials of the service and of each agent image to var/sbom
	@config/bin/sbom

install-service: ## Start Berth when this machine boots (systemd), and keep the agents' network closed until its rules are set
	@config/bin/install-service

uninstall-service: ## Remove the systemd units; the data, the settings and the agents stay
	@config/bin/uninstall-service

uninstall: ## Remove Berth's containers, networks and rules; WHAT="--volumes --images --data" removes more, --dry-run only lists
	@config/bin/uninstall $(WHAT)
