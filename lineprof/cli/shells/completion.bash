# bash completion of kernprof and lineprof: lineprof completions bash

# Adds those of the words $2... that continue what is typed, behind the text $1.
_lineprof_add() {
    local before=$1 word
    shift
    for word; do
        if [[ $before$word == "$cur"* ]]; then COMPREPLY+=("$before$word"); fi
    done
}

# Adds files that end in $1, and folders.
_lineprof_add_files() {
    local path
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(
        compgen -f -X "!*$1" -- "$cur"
        compgen -d -- "$cur"
    )
}

# Completes the command $1, whose arguments begin at the word $2.
_lineprof_complete() {
    local flags=() words=() values=() kind separator waiting= word before= i
    for ((i = $2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            waiting=${waiting:-=}
        elif [[ -n $waiting ]]; then
            _lineprof_value "$1" "$waiting"
            if [[ $kind == program ]]; then return; fi
            waiting=
        elif [[ $word == -[!-]* ]]; then
            waiting=-${word: -1}
            _lineprof_value "$1" "$waiting" || waiting=
        elif [[ $word == --?* ]]; then
            waiting=$word
            _lineprof_value "$1" "$waiting" || waiting=
        else
            _lineprof_flags "$1"
            if [[ $kind == program ]]; then return; fi
        fi
    done
    if [[ $cur == = ]]; then cur=; fi
    if [[ -z $waiting && $cur == --*=* ]]; then
        waiting=${cur%%=*} before=$waiting=
    fi
    if [[ -n $waiting ]]; then
        _lineprof_value "$1" "$waiting" || return
        if [[ -n $separator && $cur == *"$separator"* ]]; then
            before=${cur%"$separator"*}$separator
        fi
        _lineprof_add "$before" "${values[@]}"
        return
    fi
    _lineprof_flags "$1"
    if [[ $cur == -* ]]; then
        _lineprof_add "" "${flags[@]}"
    else
        _lineprof_add "" "${words[@]}"
        if [[ $kind != none ]]; then _lineprof_add_files "$suffix"; fi
    fi
}

_kernprof() {
    local cur=${COMP_WORDS[COMP_CWORD]} suffix=
    COMPREPLY=()
    _lineprof_complete @KERNPROF@ 1
}

_lineprof() {
    local cur=${COMP_WORDS[COMP_CWORD]} suffix= flags=() words=() kind
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _lineprof_add "" @COMMANDS@
        if [[ $cur == -* ]]; then _lineprof_add "" @GENERAL@; fi
        _lineprof_complete @DEFAULT@ 1
    elif _lineprof_flags "${COMP_WORDS[1]}"; then
        _lineprof_complete "${COMP_WORDS[1]}" 2
    else
        _lineprof_complete @DEFAULT@ 1
    fi
}

complete -o filenames -o default -F _kernprof kernprof
complete -o filenames -o default -F _lineprof lineprof
# Sets the flags, words and files of the command $1.
_lineprof_flags() {
    flags=() words=() suffix= kind=none
    case "$1" in
@FLAGS@
    *) return 1 ;;
    esac
}

# Sets the values of the flag $2 of the command $1; fails if it takes none.
_lineprof_value() {
    values=() separator= kind=value
    case "$1 $2" in
@VALUES@
    *) return 1 ;;
    esac
}
