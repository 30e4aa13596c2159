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
        [[ -d /run/systemd/system ]] || fail "systemd does not run here. docs/hardening.md says how to do without it (Firewall)."
    fi
}

# read_settings prints the service's settings, if there are some, as systemd reads them: a line NAME=VALUE for each,
# without quotation marks. Of what `make install-service` writes only root may read them, so that sudo is asked.
read_settings() {
    local -a show=(cat "$destination$settings")
    [[ -e $destination$settings ]] || return 0
    [[ -r $destination$settings ]] || show=(sudo "${show[@]}")
    "${show[@]}" | parse_settings
}

# setting NAME prints its value, or else that of this checkout, or nothing.
setting() {
    { [[ ! -r $own_settings ]] || parse_settings <"$own_settings" && read_settings; } | sed -n "s/^$1=//p" | tail -n 1
}

# export_settings makes the service's settings those of this script and what it runs, and those of this checkout that
# neither the service nor this shell has.
export_settings() {
    local line found
    found=$(read_settings) || fail "The service's settings ($destination$settings) cannot be read. Run this as root."
    while IFS= read -r line; do
        [[ -z $line ]] || export "${line?}"
    done <<<"$found"
    export_own_settings
}
