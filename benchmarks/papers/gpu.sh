#!/usr/bin/env bash
# The measurements of docs/papers.md on one GPU, in order of increasing cost, run in the root of the repository:
#   bash benchmarks/papers/gpu.sh 1      at most 480 s: rates and one short training of each kind
#   bash benchmarks/papers/gpu.sh 2      at most 560 s: the rest of the rates, all seeds of WarpDrive's Figure 10
#   bash benchmarks/papers/gpu.sh 3      at most 560 s: CPU against GPU (Madrona's Figure 3), --num-envs auto and a scan
#   bash benchmarks/papers/gpu.sh 4      at most 560 s: the same PPO on several engines (EnvPool's Figure 7)
#   bash benchmarks/papers/gpu.sh 5      at most 580 s: CuLE's Table 3, Pong; repeat it to continue
#   bash benchmarks/papers/gpu.sh 6 GAME at most 580 s: CuLE's Table 3 with all numbers, one game; repeat it to continue
# Every command has its own timeout and its own file of results in $LOGS; a command that is repeated continues.
# GPU (cuda:0), PYTHON and LOGS may be set from outside. PARSE=1 only checks the flags of all commands.
set -u
GPU=${GPU:-cuda:0}
LOGS=${LOGS:-runs/papers}
PYTHON=${PYTHON:-$(command -v .venv/bin/python || command -v python3)}
P=benchmarks/papers
mkdir -p "$LOGS"

step() {  # step SECONDS NAME PROGRAM FLAGS...
  local limit=$1 name=$2 program=$3
  shift 3
  if [ -n "${PARSE:-}" ]; then
    "$PYTHON" - "$program" --out "$LOGS/$name.json" "$@" <<'PY' && echo "ok $name" || echo "WRONG $name"
import importlib, sys
from pathlib import Path
program = Path(sys.argv[1])
sys.path[:0] = [str(program.parent), "benchmarks"]
import tyro
tyro.cli(importlib.import_module(program.stem).Settings, args=sys.argv[2:])
PY
    return
  fi
  local began=$SECONDS
  echo "== $name: $program $*" | tee -a "$LOGS/$name.txt"
  timeout --signal=INT --kill-after=5 "$limit" "$PYTHON" "$program" --out "$LOGS/$name.json" "$@" >>"$LOGS/$name.txt" 2>&1
  echo "== $name: exit code $? after $((SECONDS - began)) s" | tee -a "$LOGS/$name.txt"
  tail -n 25 "$LOGS/$name.txt"
}

part1() {
  step 75 madrona_table1_small $P/madrona_table1.py --devices "$GPU" --worlds CartPole-v1 Overcooked-v0 Hanabi-v0 --seconds 1
  step 80 warpdrive_rates $P/warpdrive_rates.py --device "$GPU" --plot "$LOGS/figures"
  step 60 warpdrive_rates_large $P/warpdrive_rates.py --device "$GPU" --cases grid-1000 continuous-45 --worlds 2000
  step 100 warpdrive_figure10_seed0 $P/warpdrive_figure10.py --devices cpu "$GPU" --seeds 0 --limit 45 15 --plot "$LOGS/figures"
  step 145 cule_table3_first $P/cule_table3.py --device "$GPU" --games Pong-v5 --consoles 1200 --batching 20/20/1 --seeds 0 --limit 60 --piece 130
}

part2() {
  step 230 madrona_table1 $P/madrona_table1.py --devices cpu "$GPU" --seconds 1 --plot "$LOGS/figures"
  step 330 warpdrive_figure10 $P/warpdrive_figure10.py --devices cpu "$GPU" --seeds 0 1 2 --limit 75 15 --plot "$LOGS/figures"
}

part3() {
  step 280 madrona_figure3 $P/madrona_figure3.py --devices cpu "$GPU" --plot "$LOGS/figures"
  step 120 num_envs_cartpole benchmarks/num_envs.py --device "$GPU" --worlds CartPole-v1 --rounds 3
  step 160 num_envs_tag benchmarks/num_envs.py --device "$GPU" --worlds TagContinuousDemo-v0 --sizes 64 128 256 512 1024 2048 4096 8192 16384 --rounds 2
}

part4() {
  step 330 envpool_figure7 $P/envpool_figure7.py --engines worldloom gymnasium --device "$GPU" --games Pong-v5 --limit 100 --piece 320 --plot "$LOGS/figures"
  step 230 num_envs_pong benchmarks/num_envs.py --device "$GPU" --worlds Pong-v5 --sizes 64 128 256 512 1024 2048 4096 8192 --rounds 2
}

part5() {
  step 580 cule_table3_short $P/cule_table3.py --device "$GPU" --games Pong-v5 --consoles 120 1200 --batching 20/20/1 5/5/1 --seeds 0 --limit 400 --piece 540 --plot "$LOGS/figures"
}

part6() {
  local game=${1:-Pong-v5}
  step 580 "cule_table3_${game%-v5}" $P/cule_table3.py --device "$GPU" --games "$game" --seeds 0 --limit 540 --piece 540 --plot "$LOGS/figures"
}

case ${1:-} in
  1|2|3|4|5) "part$1" ;;
  6) part6 "${2:-}" ;;
  all) for n in 1 2 3 4 5 6; do "part$n"; done ;;
  *) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
