#!/bin/sh
# A corpus, split over the tasks of a Slurm array:
#
#	CAPTURES=/data/captures TABLES=/data/tables sbatch --array 0-7 corpus-slurm.sh
#
# Both may be in an object store (s3://BUCKET/captures), or on a file system that all nodes share. Each task reads its part
# of the captures and writes their parts of the tables: there is nothing to merge. Arguments after the name are passed to
# the program. With "replay" as the first one it replays the captures.
#
#SBATCH --job-name=tcpwheel-corpus
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=corpus-%A-%a.log
set -eu
command=analyze
if [ "${1:-}" = replay ]; then
	command=$1
	shift
fi
exec "${TCPWHEEL:-tcpwheel-corpus}" "$command" --shard auto --jobs "${SLURM_CPUS_PER_TASK:-0}" --parquet "${TABLES:-tables}" "$@" "${CAPTURES:-captures}"
