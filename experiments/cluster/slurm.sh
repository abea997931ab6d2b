#!/bin/sh
# All studies, split over the tasks of a Slurm array:
#
#	sbatch --array 0-7 slurm.sh
#
# Each task writes its shard to the directory SHARDS, on a file system that all nodes share. To merge the shards, see
# README.md. Arguments after the name, as in "sbatch --array 0-7 slurm.sh --quick", are passed to the program.
#
#SBATCH --job-name=tcpwheel-studies
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=studies-%A-%a.log
set -eu

# "auto" takes the index of this task and the number of tasks from SLURM_ARRAY_TASK_ID, _MIN, _MAX and _COUNT.
exec "${TCPWHEEL:-tcpwheel}" experiment run --all --shard auto --workers "${SLURM_CPUS_PER_TASK:-0}" --out "${SHARDS:-shards}" "$@"
