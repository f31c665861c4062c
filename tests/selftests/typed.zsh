# SPDX-License-Identifier: GPL-2.0-only
#
# usage: zsh -f typed.zsh DIR TEXT
#
# Print the command line of an interactive zsh after TEXT and a tab; DIR has its completions, and may
# be written to.

cat >$1/.zshrc <<'EOF'
PS1= PS2= PROMPT_EOL_MARK=
zstyle ':completion:*' list-prompt ''
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit
compinit -u -D
show() { print -r -- "<line>$BUFFER</line>" }
zle -N show
bindkey '^X' show
zle-line-init() { print -r -- "<ready>" }
zle -N zle-line-init
EOF
export ZDOTDIR=$1 TERM=dumb

zmodload zsh/zpty
zpty shell zsh -i

# seen TEXT: wait until it is on the terminal, into said
seen() {
	said=
	while [[ $said != *"$1"* ]] && zpty -r shell part; do
		said+=$part
	done
}

seen '<ready>'
zpty -n -w shell "$2"$'\t'
# what completing takes
sleep 1
zpty -n -w shell $'\C-X'
seen '</line>'
said=${said##*'<line>'}
print -r -- "${said%%'</line>'*}"
zpty -d shell
