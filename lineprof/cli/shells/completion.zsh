#compdef kernprof lineprof
# zsh completion of kernprof and lineprof: lineprof completions zsh

_lineprof() {
    local context state state_descr line
    typeset -A opt_args
    local -a commands=(@COMMANDS@)
    _arguments -C @GENERAL@ '1: :->command' '*:: :->arguments'
    case $state in
    command)
        _describe -t commands command commands
        _files -g '*.lprof'
        ;;
    arguments)
        case $words[1] in
        @NAMES@) _lineprof_$words[1] ;;
        *) _lineprof_@DEFAULT@ ;;
        esac
        ;;
    esac
}
@FUNCTIONS@
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    case $service in
    kernprof) _kernprof "$@" ;;
    *) _lineprof "$@" ;;
    esac
else
    compdef _kernprof kernprof
    compdef _lineprof lineprof
fi
