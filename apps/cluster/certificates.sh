#!/usr/bin/env bash
# certificates.sh <folder> <nodes> [<name of the cluster>]
#
# Makes, in that folder, an authority (ca.pem, ca.key) and for each node a certificate and its key (node-<n>.pem,
# node-<n>.key), by the commands of docs/cluster.md. For trials and tests: a real authority keeps its key elsewhere.
set -euo pipefail

(($# >= 2)) || {
    printf 'usage: certificates.sh <folder> <nodes> [<name of the cluster>]\n' >&2
    exit 2
}
folder=$1 nodes=$2 cluster=${3:-tutti}
mkdir -p "$folder"
cd "$folder"

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj "/CN=$cluster authority" \
    -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem 2>openssl.log
for ((n = 0; n < nodes; ++n)); do
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj "/CN=node-$n.$cluster" \
        -keyout "node-$n.key" -out "node-$n.csr" 2>openssl.log
    openssl x509 -req -in "node-$n.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -out "node-$n.pem" \
        -extfile <(printf 'subjectAltName=DNS:node-%s.%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$n" "$cluster") \
        2>openssl.log
    rm "node-$n.csr"
done
rm -f openssl.log
