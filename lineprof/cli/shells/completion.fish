# fish completion of kernprof and lineprof: lineprof completions fish

# Whether the command line is of lineprof's command $argv[1], or of none.
function __lineprof_uses
    set -l words (commandline -opc)
    set -q words[2]; and contains -- $words[2] @COMMANDS@; or set words x @DEFAULT@
    contains -- $words[2] $argv
end

# Whether the first word is still to be typed.
function __lineprof_is_first
    test (count (commandline -opc)) -eq 1
end

@FLAGS@
