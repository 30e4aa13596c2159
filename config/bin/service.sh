# Functions for the scripts that deal with the systemd service. They source this file from the root of the checkout.
# shellcheck shell=bash

destination=${DESTDIR:-}
units=$destination/etc/systemd/system
library=/usr/local/lib/berth
settings=/etc/berth/environment

# Without DESTDIR the units are for this machine, which requires root and systemd.
require_system() {
    if [[ -z $destination ]]; then
        ((EUID == 0)) || fail "This needs root. Run: sudo make $1"
        [[ -d /run/systemd/system ]] || fail "systemd does not run here. docs/hardening.md says how to run Berth without it (Firewall)."
    fi
}

# read_settings prints the service's settings, if any, as systemd reads them: a line NAME=VALUE for each, without
# quotation marks. A line that systemd would leave out or read otherwise ends the command, which would run with other
# settings than were meant. Only root may read the file that `make install-service` writes, so this may call sudo.
read_settings() {
    local file=$destination$settings text
    local -a show=(cat "$file")
    is_there "$file" || return 0
    [[ -r $file || ! -e $file ]] || show=(sudo "${show[@]}")
    [[ -f $file ]] && text=$("${show[@]}" | tr '\0' '\1') || fail "The service's settings ($file) cannot be read. Run this as root."
    require_lines "$file" <<<"$text"
    parse_settings <<<"$text"
}

# require_service_settings ends a command that may read the service's settings and cannot, as when a link leads nowhere.
require_service_settings() {
    local file=$destination$settings
    if [[ -r $file || (-L $file && ! -e $file) ]]; then read_settings >/dev/null; fi
}

# setting NAME prints the setting's value for the service, or else for this checkout, or nothing.
setting() {
    { [[ ! -r $own_settings ]] || parse_settings <"$own_settings" && read_settings; } | sed -n "s/^$1=//p" | tail -n 1
}

# export_settings exports the service's settings to this script and the commands that it runs, and those settings of this
# checkout that neither the service nor this shell has.
export_settings() {
    local line found
    found=$(read_settings) || exit
    while IFS= read -r line; do
        [[ -z $line ]] || export "${line?}"
    done <<<"$found"
    export_own_settings
    # For the service, the tilde is the home directory of its user.
    found=$(read_variable BERTH_DATA_DIR 2>/dev/null) || return 0
    if [[ $found == "~"* && -e $destination$settings ]]; then
        BERTH_DATA_DIR=$(HOME=$(home_of "$(stat --format %U .)") && data_directory)
        export BERTH_DATA_DIR
        unset BERTH_DATA_DIR_FILE
    fi
}
