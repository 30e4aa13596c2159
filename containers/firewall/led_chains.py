"""A shell function for scripts, which finds out whether packets reach a rule."""

LEADS = """\
# leads CHAIN RULE: whether all packets of $bridge come to the rule. Only rules of other interfaces stand before it.
leads() {
    $program -w -S "$1" 2>/dev/null | while read -r rule; do
        case "$rule" in
            "-A $1 $2") echo "yes"; break ;;
            "-A $1 -i $bridge "* | "-A $1 -i "*+*) break ;;
            -P* | -N* | "-A $1 -i "*) ;;
            *) break ;;
        esac
    done | grep -q yes
}
"""
