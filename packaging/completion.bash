# bash completion for refhist-run and refhist. The programs say themselves what fits; see core/runner/completion.h.

_refhist()
{
    local cur prev words cword answer line i at=0 joined
    _get_comp_words_by_ref -n =: cur prev words cword || return
    COMPREPLY=()
    answer=$("$1" --complete "${words[@]:1:cword}" 2>/dev/null) || return
    while IFS= read -r line; do
        case $line in
            :files) cur=${cur#--*=} && _filedir ;;
            :folders) cur=${cur#--*=} && _filedir -d ;;
            :command\ *)
                # bash has taken words apart at = and :, so the program's place is another one in its list.
                for ((i = 0; i < ${line#:command }; i++)); do
                    joined=${COMP_WORDS[at++]}
                    while [[ $joined != "${words[i]}" && at -lt ${#COMP_WORDS[@]} ]]; do
                        joined+=${COMP_WORDS[at++]}
                    done
                done
                _command_offset "$at"
                return
                ;;
            ?*) COMPREPLY+=("$line") ;;
        esac
    done <<<"$answer"
    # A setting's value follows its name at once.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    # bash replaces what stands behind the last = or : only.
    if [[ $cur == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*[=:]}"}"}")
    fi
}
complete -F _refhist refhist-run refhist
