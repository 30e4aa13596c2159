# What `install-service` and `uninstall-service` share. They source this file from the root of the checkout.
# shellcheck shell=bash

destination=${DESTDIR:-}
units=$destination/etc/systemd/system
library=/usr/local/lib/berth
settings=/etc/berth/environment

# Without DESTDIR the units are for this machine, which takes root and systemd.
require_system() {
    if [[ -z $destination ]]; then
        ((EUID == 0)) || fail "This takes root. Run: sudo make $1"
        [[ -d /run/systemd/system ]] || fail "systemd does not run here. SECURITY.md says how to do without (Firewall)."
    fi
}
