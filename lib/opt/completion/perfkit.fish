# fish completion of perfkit: perfkit completion fish | source
# perfkit prints what the last word may become, a line each; nothing of it is evaluated.
function __perfkit_words
    set -l words (commandline -opc)
    set -l program perfkit
    command -q perfkit; or set program $words[1]
    set -l here (string unescape -- (commandline -ct)); or set here ''
    set -l found (command $program completion -- $words "$here" 2> /dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c perfkit -f -a '(__perfkit_words)'
