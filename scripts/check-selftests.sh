# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The selftests that scripts/check runs in one VM, each with a line of its own.
# shellcheck disable=SC2153,SC2154 # the variables of scripts/check

# test_ended LINE: the result of the selftest that ran
test_ended() {
	local status
	case $1 in
	*'# SKIP') status=$SKIP ;;
	ok*)	status=0 ;;
	*)	status=1 ;;
	esac
	printf '%s\n' "${lines[@]}" |
		verdict "$flavour: $current" "$status" $((SECONDS - start))
	case $status in
	"$SKIP") [[ ${#lines[@]} -eq 0 ]] || shown 1 "${lines[@]}" ;;
	1)	shown 60 "${lines[@]}" "${1#not ok * }" "-- from ${log#"$TREE"/}"
		printf '%s\n' "${lines[@]}" "${1#not ok * }" | because "$flavour: $current" ;;
	esac
}

# vm_ended NAME: the tests that could not pass because of the VM
vm_ended() {
	verdict "$1" 1 $((SECONDS - start)) </dev/null
	because "$1" <"$log.vm"
	if [[ $done -lt ${#todo[@]} ]]; then
		failure "$log"
	else
		sed 's/^/    /' "$log.vm"
	fi
}

# selftests FLAVOUR CPUS short|whole LIST TEST...: run all in one VM. If one of them takes the VM
# down, run the rest in another one; include that test if QEMU was to blame
selftests() {
	local flavour=$1 cpus=$2 length=$3 list=${4#list} options=() rest todo n=1 nth='' tries=$TRIES
	shift 4
	rest=("$@")
	case $flavour in
	uml*)	options+=(--backend "$flavour" --mem 1024 --limit "$LIMIT_UML") ;;
	debug)	options+=(--kver debug --cpus "$cpus" --mem 3072 --boot-args kmemleak=on
			  --limit "$LIMIT_DEBUG") ;;
	kcsan)	options+=(--kver kcsan --cpus "$cpus" --limit "$LIMIT_DEBUG") ;;
	virtual) options+=(--virtual-clock --limit "$LIMIT_VM") ;;
	*)	truncate -s 64M "$logs/nvme-$flavour$list"
		options+=(--kver "$flavour" --cpus "$cpus" --limit "$LIMIT_VM"
			  --disk "nvme:$logs/nvme-$flavour$list") ;;
	esac
	[[ $length == whole ]] || options+=(--env QUICK=1)
	while [[ ${#rest[@]} -gt 0 ]]; do
		local log=$logs/selftests-$flavour$list$nth.log line current='' done=0 start=0 rc=0
		n=$((n + 1)) nth=-$n
		todo=("${rest[@]}")
		local lines=()
		while IFS= read -r line; do
			case $line in
			'# '*': begins')
				current=${line#'# '}
				current=${current%: begins}
				start=$SECONDS
				lines=() ;;
			'ok '*|'not ok '*)
				whole test_ended "$line"
				done=$((done + 1)) current='' ;;
			'# '*)	lines+=("${line#'# '}") ;;
			'vm: '*) rc=${line#vm: } ;;
			esac
			[[ ! $V ]] || printf '    %s\n' "$line"
		done < <(scripts/vm run "${options[@]}" --log "$log" --env V=1 \
				tests/selftests/run.sh "${todo[@]}" 2>"$log.vm" || echo "vm: $?")
		wait $! || :	# so that its processor time is counted
		if [[ $rc -eq $EMULATOR && $done -lt ${#todo[@]} && $((--tries)) -gt 0 ]]; then
			again "$flavour: ${todo[done]}"
		elif [[ $done -lt ${#todo[@]} ]]; then
			# the test that ran when the VM ended did not pass
			sed 1d "$log.vm" >>"$log"
			whole vm_ended "$flavour: ${todo[done]}"
			done=$((done + 1))
		elif [[ $rc -ge $EMULATOR ]]; then
			current=$(sed -n '2s/^ *//p' "$log.vm")
			current=$(grep -F -m 1 -B 100000 -e "$current" "$log" |
				sed -n 's/^# \(.*\): begins$/\1/p' | tail -n 1)
			whole vm_ended "$flavour: kernel log${current:+ during $current}"
		fi
		rest=("${todo[@]:done}")
	done
}
