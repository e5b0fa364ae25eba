#compdef perfkit
# zsh completion of perfkit: source <(perfkit completion zsh), or this file as _perfkit in a folder of $fpath.
# perfkit prints what the last word may become, a line each; nothing of it is evaluated.
_perfkit() {
  local program=perfkit
  local -a found
  (( $+commands[perfkit] )) || program=${(Q)words[1]}
  found=("${(@f)$(command $program completion -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)}")
  found=("${(@)found:#}")
  if (( $#found )); then
    compadd -V perfkit -- "${found[@]}"
  else
    _files
  fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _perfkit "$@"
else
  compdef _perfkit perfkit
fi
