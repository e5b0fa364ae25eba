# bash completion of perfkit: source <(perfkit completion bash)
# perfkit prints what the last word may become, a line each; nothing of it is evaluated.
_perfkit() {
  local line=${COMP_LINE:0:COMP_POINT} here=${COMP_WORDS[COMP_CWORD]} program=perfkit words found reply
  type -P perfkit > /dev/null || program=${COMP_WORDS[0]}
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  # of a word like --format=js, bash replaces what is behind the last of the characters in COMP_WORDBREAKS
  [[ $here == [=:@] ]] && here=
  local stays=${words[-1]%"$here"}
  COMPREPLY=()
  mapfile -t found < <(command "$program" completion -- "${words[@]}" 2> /dev/null)
  for reply in "${found[@]}"; do
    reply=${reply#"$stays"}
    [[ $reply == *[!A-Za-z0-9._@%+=:,/~-]* ]] && printf -v reply %q "$reply"
    COMPREPLY+=("$reply")
  done
  [[ ${#COMPREPLY[@]} == 1 && $reply == *= ]] && compopt -o nospace 2> /dev/null
  return 0
}
complete -o default -F _perfkit perfkit
