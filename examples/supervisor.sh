#!/usr/bin/env bash
# Supervise many runs of the Codex CLI over one pipe: a minimal version. Needs bash 4.1 or later, and jq.
#
#   supervisor.sh 'Fix the failing test' 'Write the missing docs' -- --max-runs 8 --idle-timeout 300
#
# It starts one run for each prompt. Arguments after `--` are options of `codex-adapter serve`. Exit status: 0 if every
# run completed its turn, 130 or 143 after SIGINT or SIGTERM, else 1. `supervisor.mjs` also shows credit: with it, a
# slow consumer of one run stops only that run.
set -u

prompts=() options=()
while (($#)); do
  if [[ $1 == -- ]]; then shift; options=("$@"); break; fi
  prompts+=("$1"); shift
done

# bash closes the descriptors of a coprocess that ended. So the coprocess waits until the script has duplicated them.
coproc DAEMON { IFS= read -r _; exec codex-adapter serve ${options[@]+"${options[@]}"}; }
daemon=$DAEMON_PID
exec {to}>&"${DAEMON[1]}" {from}<&"${DAEMON[0]}" {DAEMON[1]}>&- {DAEMON[0]}<&-
echo >&"$to"

trap '' PIPE # a daemon or a reader that ended must not kill this script silently
call() { # METHOD ID PARAMS
  jq -cn --arg method "$1" --arg id "$2" --argjson params "$3" \
    '{jsonrpc: "2.0", $id, $method, $params}' >&"$to" 2>/dev/null
}
say() { # A signal interrupts a write, too. If the reader left, the daemon cancels its runs when this script exits.
  printf '%s\n' "$*" 2>/dev/null || { [[ $interrupted ]] && printf '%s\n' "$*"; } || exit 1
}

interrupted=''
interrupt() {
  # Ctrl-C reaches the daemon, too, which does the same by itself. `kill` reaches only this script.
  if [[ -z $interrupted ]]; then call shutdown cancel '{"mode": "cancel"}'; else kill -TERM "$daemon"; fi 2>/dev/null
  interrupted=$1
}
trap 'interrupt 130' INT
trap 'interrupt 143' TERM

# Convert every message to one short line: its kind, its subject and its text, without control characters. A partial
# line of a killed daemon is ignored.
read -r -d '' digest <<'JQ'
  def words: map(values) | join(" ");
  def safe: values | tojson | explode | map(if . > 126 and . < 160 then 63 else . end) | implode;
  fromjson?
  | if .method == "run/event" then .params | ["event", .runId,
        (.event | [.kind, .data.tool?.kind?, .data.tool?.status?, (.text // .message | safe)] | words)]
    elif .method == "run/completed" then .params | [(.completion.ok | tostring), .runId,
        (.completion | [.outcome, .turn, (.final_text // .error.message? | safe)] | words)]
    elif .error then ["refused", .id // "the daemon", ([.error.data.kind?, .error.message] | words)]
    else ["answer", .id] end
  | join("\t")
JQ
exec {told}< <(trap '' INT; trap - PIPE; exec jq --unbuffered -rR "$digest" <&"$from" {to}>&-) {from}<&-

# Send one request at a time: a supervisor that only writes can wait for the daemon while the daemon waits for it.
batch=$(date +%s)-$$ # a journal accepts each id only once
declare -A live=()
unsuccessful=0 last=0 line=''
next() {
  if [[ $interrupted ]]; then return; fi
  if ((last == ${#prompts[@]})); then call shutdown drain '{"mode": "drain"}'; return; fi
  local id=$batch-$((++last)) params
  params=$(jq -cn --arg runId "$id" --arg prompt "${prompts[last - 1]}" \
    '{$runId, agentKind: "codex", request: {$prompt}}')
  live[$id]=yes
  call run/start "$id" "$params"
}

call initialize initialize '{"protocolVersion": "1.0", "clientInfo": {"name": "supervisor.sh"}}'
while :; do
  IFS= read -r piece <&"$told"
  status=$? line+=$piece
  if ((status > 128)); then continue; fi # a signal was handled; the rest of the line is not read yet
  if ((status)); then break; fi
  IFS=$'\t' read -r what id text <<<"$line"
  line=''
  case $what in
    event) say "$id $text" ;;
    answer) if [[ $id == drain || $id == cancel ]]; then break; else next; fi ;;
    refused) unset "live[$id]"; ((unsuccessful++)); say "$id refused $text"; next ;;
    *) unset "live[$id]"; [[ $what == true ]] || ((unsuccessful++)); say "$id $text" ;;
  esac
done

if ((${#live[@]})); then ((unsuccessful++)); echo "supervisor: the daemon ended; unfinished runs: ${!live[*]}" >&2; fi
echo '{"jsonrpc": "2.0", "method": "exit"}' >&"$to" 2>/dev/null
exec {to}>&-
while wait "$daemon"; status=$?; kill -0 "$daemon" 2>/dev/null; do :; done # a signal ends only `wait`
if ((status)); then ((unsuccessful++)); echo "supervisor: the daemon ended with status $status" >&2; fi
exit "${interrupted:-$((unsuccessful > 0))}"
