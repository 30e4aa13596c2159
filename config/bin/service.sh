# What the scripts share that know of the service. They source this file from the root of the checkout.
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

# read_settings prints the service's settings, if there are some and they may be read, as systemd reads them: a line
# NAME=VALUE for each, without quotation marks.
read_settings() {
    [[ -r $destination$settings ]] || return 0
    sed -nE '
        s/^[[:space:]]*([A-Z_][A-Z0-9_]*)[[:space:]]*=[[:space:]]*(.*[^[:space:]])?[[:space:]]*$/\1=\2/; t found; d
        : found
        s/^([^=]*)="(.*)"$/\1=\2/; t escapes
        s/^([^=]*)='\''(.*)'\''$/\1=\2/; p; d
        : escapes
        s/\\(["\\$`])/\1/g; p
    ' "$destination$settings"
}

# setting NAME prints its value, or nothing.
setting() { read_settings | sed -n "s/^$1=//p" | tail -n 1; }

# export_settings makes the service's settings those of this script and what it runs.
export_settings() {
    local line
    while IFS= read -r line; do
        export "${line?}"
    done < <(read_settings)
}
