# Functions that both `run` and `test` need. They source this file from the root of the checkout.
# shellcheck shell=bash

UV_VERSION=0.13.8
# Compiled once, when installed: every command here starts in half the time.
export UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1
# What this shell sets for other Python programs would keep ours from finding its modules.
unset VIRTUAL_ENV PYTHONHOME PYTHONPATH PYTHONSAFEPATH

trap 'exit 130' INT TERM

say() { printf '%s\n' "$*"; }

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# step TITLE COMMAND... runs the command quietly. A command that takes longer than two seconds says so, with the last
# line that it has written; one that fails shows all of its output, unless it fails with the caller's `quiet_code`.
step() {
    local title=$1 log pid code=0 began=$SECONDS shown=0 last
    shift
    log=$(mktemp 2>&1) ||
        fail "$title: ${log#mktemp: }. Free some space, or set TMPDIR to a directory that can be written, then run this again."
    # A process group of its own, because a background job of a script is otherwise deaf to Ctrl-C, and so are its children.
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    trap 'trap "" INT TERM HUP; end_job "$pid"; rm -f "$log"; end_progress; say "Interrupted. Run it again to go on." >&2; exit 130' INT TERM HUP
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.1
        if ((SECONDS - began >= 2 && SECONDS - shown >= ($(is_terminal && echo 1 || echo 10)))); then
            shown=$SECONDS
            last=$(tail -n 1 "$log" | tr -d '\r' | cut -c 1-80)
            progress "… $title${last:+ ($last)}"
        fi
    done
    wait "$pid" || code=$?
    trap 'exit 130' INT TERM
    trap - HUP
    ((shown == 0)) || end_progress
    if ((code != 0)) && [[ $code != "${quiet_code:-}" ]]; then
        cat "$log" >&2
        say "$title: failed." >&2
        has_room "$log" ||
            say "The reason could not be kept, because the disk of $log is full. Free some space, or set TMPDIR to a directory on another disk, then run this again." >&2
    fi
    rm -f "$log"
    return "$code"
}

# has_room FILE succeeds if more can be written to the file, which it does.
has_room() { printf '%8192s' '' 2>/dev/null >>"$1"; }

# end_job PID ends a background job with its children: as by Ctrl-C, and after five seconds in any case.
end_job() {
    local deadline=$((SECONDS + 5))
    kill -INT -- "-$1" 2>/dev/null || return 0
    while ((SECONDS < deadline)) && [[ $'\n'$(jobs -pr)$'\n' == *$'\n'"$1"$'\n'* ]]; do sleep 0.1; done
    kill -KILL -- "-$1" 2>/dev/null || true
}

is_terminal() { [[ -t 1 ]]; }

progress() {
    if is_terminal; then printf '\r\033[K%s' "$1"; else say "$1"; fi
}

end_progress() { if is_terminal; then printf '\r\033[K'; fi; }

# -- Settings ---------------------------------------------------------------------------------------------------------

# Settings of this checkout, for `make run` and the service. The shell's or the service's own settings take precedence.
own_settings=var/berth.env

# parse_settings reads settings as systemd does: it prints NAME=VALUE for each, without quotation marks.
parse_settings() {
    # The last line may lack its end.
    { cat && echo; } | LC_ALL=C sed -nE '
        s/^[[:space:]]*([A-Z_][A-Z0-9_]*)[[:space:]]*=[[:space:]]*(.*[^[:space:]])?[[:space:]]*$/\1=\2/; t found; d
        : found
        s/^([^=]*)="(.*)"$/\1=\2/; t escapes
        s/^([^=]*)='\''(.*)'\''$/\1=\2/; t whole
        s/\\(.)/\1/g
        : whole
        p; d
        : escapes
        s/\\(["\\$`])/\1/g; p
    '
}

# find_unreadable prints the number of the first line that parse_settings or systemd would leave out or misread, if any.
# A carriage return ends a line of systemd's, a backslash at the end of a comment makes systemd before 254 skip the line
# after it, and for one byte that is not UTF-8 it ignores the whole file.
find_unreadable() {
    LC_ALL=C sed -nE '
        /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r./{ =; q }
        /^[[:space:]]*([#;]([^\]|\\.)*)?$/d
        /\xef\xb7[\x90-\xaf]|(\xef|[\xf0-\xf4][\x8f\x9f\xaf\xbf])\xbf[\xbe\xbf]/{ =; q }
        /^([\x01-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*$/!{ =; q }
        s/[[:space:]]+$//
        /^[[:space:]]*[A-Z_][A-Z0-9_]*[[:space:]]*=[[:space:]]*(([^"'\''\[:space:]]|\\.)([^\]|\\.)*)?$/d
        /^[[:space:]]*[A-Z_][A-Z0-9_]*[[:space:]]*=[[:space:]]*("([^"\]|\\.)*"|'\''[^'\'']*'\'')$/d
        =; q
    '
}

# require_lines FILE ends a command if parse_settings would leave out or misread a line of the settings that it is given.
# It shows no line, because it may have a secret.
require_lines() {
    local number
    number=$(find_unreadable)
    [[ -z $number ]] ||
        fail "Line $number of $1 cannot be read. Write NAME=value there, in UTF-8, all of it on this line, the name in capital letters and no backslash at the end, or put # in front."
}

# tell_ineffective FILE names lines of the settings that it is given which have no effect: with a name that Berth does
# not have, and those whose name a later line has, too. It shows no value.
tell_ineffective() {
    local line name known number=0
    local -A set_in=()
    known=$(grep -ohE '"BERTH_[A-Z_]+"' config/settings.py 2>/dev/null || true)
    while IFS= read -r line; do
        number=$((number + 1))
        [[ $line =~ ^[[:space:]]*[A-Z_][A-Z0-9_]*[[:space:]]*= ]] || continue
        name=${line%%=*}
        name=${name//[[:space:]]/}
        [[ -z ${set_in[$name]:-} ]] ||
            say "Line ${set_in[$name]} of $1 has no effect, because line $number sets $name again. Remove one of them." >&2
        set_in[$name]=$number
        [[ $name != BERTH_* || -z $known || $known == *"\"${name%_FILE}\""* ]] ||
            say "Line $number of $1 has no effect, because Berth has no setting $name. docs/configuration.md lists them." >&2
    done < <(cat && echo)
}

# is_there FILE succeeds if there is one, or a link that leads nowhere: settings that are elsewhere are not left out.
is_there() { [[ -e $1 || -L $1 ]]; }

# require_own_settings ends a command that cannot read this checkout's settings.
require_own_settings() {
    is_there "$own_settings" || return 0
    [[ -f $own_settings && -r $own_settings ]] || fail "$own_settings cannot be read. Run this as its owner."
    require_lines "$own_settings" <"$own_settings"
}

# export_own_settings exports this checkout's settings, except those that this shell has already.
export_own_settings() {
    local line
    is_there "$own_settings" || return 0
    require_own_settings
    while IFS= read -r line; do
        [[ -v ${line%%=*} ]] || export "${line?}"
    done < <(parse_settings <"$own_settings" | tac) # of equal names the last line counts
}

# read_variable NAME prints a variable as Berth reads it: its value, or the contents of the file that NAME_FILE names, in
# each case without surrounding spaces.
read_variable() {
    local value=${!1:-} file=$1_FILE
    file=${!file:-}
    [[ -z $value || -z $file ]] || fail "$1 and $1_FILE are both set. Keep one of them."
    if [[ -n $file ]]; then
        is_text "$file" || fail "$1_FILE names a file that cannot be read. Correct the path or its permissions."
        value=$(<"$file")
    fi
    value=${value#"${value%%[![:space:]]*}"}
    printf '%s' "${value%"${value##*[![:space:]]}"}"
}

# is_text FILE succeeds if this is a file that may be read, of a size that a value can have, without null bytes.
is_text() {
    [[ -f $1 && -r $1 ]] && (($(wc -c <"$1") <= 1024 * 1024)) && (($(tr -cd '\0' <"$1" | wc -c) == 0))
}

# home_of [USER] prints the home directory of a user, by default that of this shell, or nothing if nobody has the name.
home_of() {
    if [[ -z ${1:-} && -v HOME ]]; then
        printf '%s' "${HOME:-/}"
    else
        getent passwd "${1:-$EUID}" | cut -d : -f 6
    fi
}

# data_directory prints the directory that holds the data, as an absolute path: the one that Berth itself finds in these
# variables (`directory` in config/environment/env.py).
data_directory() {
    local found home
    found=$(read_variable BERTH_DATA_DIR) || exit
    found=${found:-var}
    if [[ $found == "~"* ]]; then
        home=${found%%/*}
        home=$(home_of "${home#"~"}")
        [[ -n $home ]] || fail "BERTH_DATA_DIR is ${found@Q}, and nobody has that home directory. Write the whole path."
        if [[ $found == */* ]]; then found=${home%/}/${found#*/}; else found=$home; fi
    fi
    [[ $found == /* ]] || found=$PWD/$found
    printf '%s' "$found"
}

# -- Python -----------------------------------------------------------------------------------------------------------

# make_environment [OPTION]... brings .venv up to date with uv.lock; options go to `uv sync`. It writes only if something
# is missing, and only one command does so at a time: it locks the checkout, without a file. What it runs holds the lock,
# too, and ends if this shell is killed or soon afterwards; nothing that runs on has it.
make_environment() {
    local lock
    ! is_synced "$@" || return 0
    exec {lock}<.
    wait_for_lock "$lock"
    is_synced "$@" || complete_environment "$@"
    exec {lock}<&-
}

# wait_for_lock DESCRIPTOR waits until no other command has the lock, and takes it.
wait_for_lock() {
    is_locked "$1" || return 0
    say "Another command installs what this checkout needs. This one waits for it."
    while is_locked "$1"; do sleep 0.2; done
}

# is_locked DESCRIPTOR succeeds if another command has the lock, and otherwise takes it. Any other code than 1 says that
# there are no locks here.
is_locked() {
    local code=0
    flock -n "$1" 2>/dev/null || code=$?
    ((code == 1))
}

complete_environment() {
    local place=.venv
    [[ -e $place ]] || place=.
    [[ -w $place ]] || fail "What Berth needs is not installed or not up to date, and $PWD cannot be written. Run this as its owner, where it can be."
    if [[ ! -x .venv/bin/python ]]; then
        local python
        python=$(find_python)
        "$python" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "Python's venv module is missing. Install it (on Debian and Ubuntu: apt install python3-venv)."
        step "Creating the virtual environment" "$python" -m venv .venv
    fi
    if [[ "$(.venv/bin/uv --version 2>/dev/null)" != "uv $UV_VERSION"* ]]; then
        # An environment whose creation was interrupted lacks pip.
        .venv/bin/python -m pip --version >/dev/null 2>&1 ||
            step "Completing the virtual environment" .venv/bin/python -m ensurepip --upgrade
        # pip takes a uv for installed whose program it was killed before it had written.
        local -a over=()
        .venv/bin/uv --version >/dev/null 2>&1 || over=(--ignore-installed)
        step "Installing uv" .venv/bin/python -m pip install --quiet "${over[@]}" "uv==$UV_VERSION"
    fi
    # uv takes a package for installed even if it was killed before it had written all files of it.
    local -a again=()
    [[ ! -e .venv/syncing ]] || again=(--reinstall)
    touch .venv/syncing
    # --inexact keeps uv itself and developers' tools installed.
    step "Installing the dependencies" .venv/bin/uv sync --quiet --frozen --inexact "${again[@]}" "$@"
    rm .venv/syncing
    describe_environment "$@" >.venv/synced
    # The owner of the checkout may be the next who updates it.
    ((EUID != 0)) || chown -hR --reference=. .venv
}

# is_synced [OPTION]... succeeds if make_environment has run with these options and no package was installed or removed
# since, also by a command that was interrupted. It looks at the packages of the current interpreter, because the distribution may have upgraded Python.
is_synced() {
    local version packages
    [[ -x .venv/bin/python && -f .venv/synced && ! -e .venv/syncing ]] || return 1
    version=$(.venv/bin/python -V 2>/dev/null) || return 1
    version=${version#Python }
    packages=.venv/lib/python${version%.*}/site-packages
    [[ -d $packages && .venv/synced -nt $packages && $(<.venv/synced) == "$(describe_environment "$@")" ]]
}

# require_environment ends a command that needs the environment but does not make it.
require_environment() { [[ -x .venv/bin/python ]] || fail "Run \`make run\` once first. It installs what Berth needs."; }

# describe_environment prints everything that the environment depends on, in one line.
describe_environment() {
    local files interpreter
    files=$(cat uv.lock pyproject.toml | sha256sum)
    interpreter="$(readlink -f .venv/bin/python) $(.venv/bin/python -V 2>/dev/null)"
    echo "${files%% *} uv $UV_VERSION $interpreter $*"
}

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    fail "Berth needs Python 3.11 or newer. Install python3 and run this again."
}

# -- Packages of the distribution -------------------------------------------------------------------------------------

may_install() { ((EUID == 0)) && command -v apt-get >/dev/null; }

# install_packages TITLE PACKAGE... needs may_install.
install_packages() {
    local title=$1
    shift
    export DEBIAN_FRONTEND=noninteractive
    local -a install=(apt-get install -y --no-install-recommends "$@")
    # apt-get exits with 100 if the lists are missing or older than the mirror's.
    if "${install[@]}" --simulate >/dev/null 2>&1 && quiet_code=100 step "$title" "${install[@]}"; then
        return
    fi
    step "Reading the package lists" apt-get update
    step "$title" "${install[@]}"
}

# -- Docker -----------------------------------------------------------------------------------------------------------

# engine_says prints `ok`, or why the engine of DOCKER_HOST (or the default one) cannot be used: `forbidden` or `silent`.
engine_says() {
    .venv/bin/python - <<'PYTHON' 2>/dev/null || echo "silent"
import docker

try:
    docker.from_env(timeout=10).ping()
    print("ok")
except docker.errors.DockerException as error:
    print("forbidden" if "Permission denied" in str(error) else "silent")
PYTHON
}

# bound_log PID LOG [BYTES] [SECONDS] keeps the log of a running process small: it moves what is in it aside when it
# exceeds these bytes, and looks every so many seconds. The process must append to it.
bound_log() {
    local most=${3:-10000000}
    while kill -0 "$1" 2>/dev/null; do
        if (($(stat --format %s "$2" 2>/dev/null || echo 0) > most)); then
            cp -p "$2" "$2.1" && : >"$2"
        fi
        sleep "${4:-60}"
    done
}

engine_answers() { [[ "$(engine_says)" == ok ]]; }

# wait_for_engine PID LOG waits until the engine that runs as process PID answers.
wait_for_engine() {
    local deadline=$((SECONDS + 60))
    until engine_answers; do
        kill -0 "$1" 2>/dev/null || { tail -n 5 "$2" >&2 || true; fail "The Docker engine ended. Its log is $2."; }
        ((SECONDS < deadline)) || fail "The Docker engine does not answer after a minute. Its log is $2."
        sleep 0.3
    done
}

# ensure_images [OPTION]... builds the images that are missing; options go to build_images. The base image is pulled from
# a registry. If none answers, mmdebstrap builds it from the distribution's packages. build_images exits with 3 if it needs
# mmdebstrap and does not find it, which is not a failure if mmdebstrap can be installed.
ensure_images() {
    local code=0 missing=
    if may_install && ! command -v mmdebstrap >/dev/null; then missing=3; fi
    build_images "$missing" --first-run "$@" || code=$?
    if ((code != 0)) && [[ $code == "$missing" ]]; then
        install_packages "Installing mmdebstrap" mmdebstrap
        code=0
        build_images "" --first-run --no-pull "$@" || code=$?
    fi
    ((code == 0)) || fail "The images could not be built. The lines above say why."
}

# build_images QUIET_CODE [OPTION]...
build_images() {
    local quiet_code=$1
    shift
    step "Building the images" .venv/bin/python manage.py build_images "$@"
}
