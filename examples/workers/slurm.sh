#!/bin/bash
#SBATCH --job-name=merrow
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=2
#SBATCH --time=02:00:00
#
# An evaluation by the workers of a SLURM job. In a folder that all nodes have, with the workflow and its data:
#     export MERROW_JOURNAL=postgresql://... PGPASSFILE=... OPENAI_BASE_URL=... OPENAI_API_KEY=...
#     sbatch slurm.sh flow.mmd --dataset own.jsonl --gold answer
# `merrow` and `dask` are on the PATH of all nodes. It was not run in SLURM when it was written, only with a stand-in for srun:
# see docs/evaluating-on-many-machines.md.
set -euo pipefail
: "${MERROW_JOURNAL:?the journal is in PostgreSQL, which all nodes reach}"

# Others have programs on these nodes. Only who can read this folder can talk to the scheduler.
umask 077
own=$(mktemp -d "$PWD/merrow-XXXXXXXX")
stop() {
    trap - EXIT INT TERM
    jobs -p | xargs -r kill 2>/dev/null || true
    wait || true
    rm -rf "$own"
}
trap stop EXIT INT TERM

openssl req -x509 -newkey rsa:2048 -nodes -days 7 -subj /CN=merrow -keyout "$own/key.pem" -out "$own/cert.pem" 2>/dev/null
tls=(--tls-ca-file "$own/cert.pem" --tls-cert "$own/cert.pem" --tls-key "$own/key.pem")
export DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$own/cert.pem"
export DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT="$own/cert.pem" DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY="$own/key.pem"

dask scheduler --protocol tls "${tls[@]}" --port 0 --no-dashboard --scheduler-file "$own/scheduler.json" &
scheduler=$!
until [ -s "$own/scheduler.json" ]; do
    kill -0 "$scheduler" # ends the script where the scheduler is gone
    sleep 1
done
srun dask worker --scheduler-file "$own/scheduler.json" "${tls[@]}" --nthreads 2 --no-dashboard \
    --local-directory "${TMPDIR:-/tmp}" &

address=$(grep -o 'tls://[^"]*' "$own/scheduler.json" | head -n 1)
merrow evaluate "$@" --engine dask --scheduler "$address"
