#!/bin/bash
# slurm.sh starts a Slurm of its own: one node on the loopback interface, in a temporary folder. It prints the name of the
# configuration, and stops what it started when its standard input ends. Status 77: Slurm or MUNGE is not installed.
set -uo pipefail
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sinfo squeue scancel; do
	command -v "$program" >/dev/null || { echo "no $program" >&2; exit 77; }
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/slurm.XXXXXX") || exit 1
chmod 755 "$dir" # munged wants its socket within reach of all
started=()

# stop ends a child of this shell: TERM, up to 5 s, KILL.
stop() {
	kill "$1" 2>/dev/null
	for _ in $(seq 50); do kill -0 "$1" 2>/dev/null || break; sleep 0.1; done
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# ours lists the processes with this cluster's configuration in their environment: slurmstepd, and what jobs left.
ours() {
	local p
	for p in /proc/[0-9]*; do
		{ tr '\0' '\n' <"$p/environ"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" && [ "${p#/proc/}" != $$ ] && echo "${p#/proc/}"
	done
}

cleanup() {
	trap - EXIT INT TERM
	timeout 5 squeue -h -o %A 2>/dev/null | sort -u | timeout 5 xargs -r scancel --quiet 2>/dev/null
	for _ in $(seq 50); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
	local i left
	for ((i = ${#started[@]} - 1; i >= 0; i--)); do stop "${started[i]}"; done
	left=$(ours)
	[ -z "$left" ] || kill -9 $left 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
	echo "slurm.sh: $*" >&2
	tail -n 15 "$dir"/*.log >&2 2>/dev/null
	exit 1
}

# free prints a TCP port without a listener.
free() {
	local port
	while port=$((20000 + RANDOM % 12000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}

host=$(hostname -s) user=$(id -un) controller=$(free)
while node=$(free); [ "$node" = "$controller" ]; do :; done
mkdir -p "$dir"/{state,spool,key} && chmod 700 "$dir/key"
(umask 077; head -c 1024 /dev/urandom >"$dir/key/munge.key")
export SLURM_CONF=$dir/slurm.conf
unset SLURM_JOB_ID SLURM_JOBID SLURM_CLUSTERS SBATCH_CLUSTERS SLURMD_NODENAME
# cred_expire is also how long a requeued job waits. Less than 5 means 120.
cat >"$SLURM_CONF" <<-EOF
	ClusterName=test
	SlurmctldHost=$host(127.0.0.1)
	SlurmctldPort=$controller
	SlurmdPort=$node
	SlurmUser=$user
	SlurmdUser=$user
	CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
	AuthType=auth/munge
	AuthInfo=socket=$dir/munge.socket,cred_expire=5
	StateSaveLocation=$dir/state
	SlurmdSpoolDir=$dir/spool
	SlurmctldPidFile=$dir/slurmctld.pid
	SlurmdPidFile=$dir/slurmd.pid
	SlurmctldLogFile=$dir/slurmctld.log
	SlurmdLogFile=$dir/slurmd.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	SwitchType=switch/none
	MpiDefault=none
	ReturnToService=2
	SlurmdParameters=config_overrides
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SchedulerType=sched/backfill
	SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0,bf_interval=1
	KillWait=1
	MinJobAge=600
	JobRequeue=1
	NodeName=$host NodeAddr=127.0.0.1 CPUs=8 RealMemory=65536 State=UNKNOWN
	PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
EOF

munged --foreground --socket="$dir/munge.socket" --key-file="$dir/key/munge.key" --pid-file="$dir/munged.pid" \
	--seed-file="$dir/key/munged.seed" --log-file="$dir/munged.log" </dev/null >"$dir/munged.out.log" 2>&1 &
started+=($!)
for _ in $(seq 100); do [ -S "$dir/munge.socket" ] && break; sleep 0.1; done
[ -S "$dir/munge.socket" ] || fail "munged has not started"
slurmctld -D -f "$SLURM_CONF" </dev/null >"$dir/slurmctld.out.log" 2>&1 &
started+=($!)
slurmd -D -f "$SLURM_CONF" </dev/null >"$dir/slurmd.out.log" 2>&1 &
started+=($!)
for _ in $(seq 300); do
	[ "$(timeout 5 sinfo -h -o %T 2>/dev/null)" = idle ] && break
	for pid in "${started[@]}"; do kill -0 "$pid" 2>/dev/null || fail "a daemon has ended"; done
	sleep 0.2
done
[ "$(timeout 5 sinfo -h -o %T 2>/dev/null)" = idle ] || fail "the node is not idle"
echo "$SLURM_CONF"
cat <&0 >/dev/null & # until standard input ends; a signal is served at once
wait $!
