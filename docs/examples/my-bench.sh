#!/usr/bin/env bash
# My experiment: compressing by gzip at several levels, in a script that speaks perfkit's protocol (docs/protocol.md).
#
#     perfkit run ./my-bench.sh
#
# The clock is that of the day, in microseconds. Starting a program takes a millisecond: for shorter work use another language.
: "${PERFKIT_WIRE_FD:?is not set: perfkit starts this script: perfkit run $0}"
input=$(mktemp)
trap 'rm -f "$input"' EXIT
seq 1 100000 > "$input"

variant_file() { gzip -c -"$level" "$input" > /dev/null; }
variant_pipe() { cat "$input" | gzip -c -"$level" > /dev/null; }

say() { printf '%s\n' "$1" >&"$PERFKIT_WIRE_FD"; }

# value KEY: of the request, a number or a word.
value() {
    local rest=${request#*\"$1\":}
    rest=${rest#\"}
    printf '%s' "${rest%%[\",\}]*}"
}

now_us() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }

measure() {
    local variant level samples='' began ended i
    variant=variant_$(value variant)
    level=$(value level)
    "$variant" || return 1
    for ((i = 0; i < 15; i++)); do
        began=$(now_us)
        "$variant"
        ended=$(now_us)
        samples+=${samples:+,}$(((ended - began) * 1000))
    done
    say '{"type":"metric","name":"time_ns","unit":"ns","direction":"lower"}'
    say '{"type":"samples","metric":"time_ns","values":['"$samples"']}'
}

say '{"type":"hello","version":1,"program":"my-bench","describes":true}'
while read -r request; do
    status=ok message=''
    case $(value type) in
    describe)
        say '{"type":"experiment","name":"my-bench","summary":"what a level of gzip costs","yardstick":"file",'\
'"axes":[{"name":"level","type":"int","min":1,"max":9,"default":[1,6]}],'\
'"variants":[{"name":"file","summary":"gzip opens the file"},{"name":"pipe","summary":"gzip reads a pipe"}]}' ;;
    measure) measure || status=failed message='gzip failed' ;;
    quit) break ;;
    *) status=failed message='this script does not know this request' ;;
    esac
    say '{"type":"status","id":'"$(value id)"',"status":"'"$status"'","message":"'"$message"'"}'
done
say '{"type":"bye"}'
