#!/usr/bin/env bash
# certificates.sh <folder> <count> [<name of the cluster, or group> [node|member|curve]]
#
# Makes in that folder an authority (ca.pem, ca.key). For each of <count> nodes it makes a certificate and its key
# (node-<n>.pem, node-<n>.key), by the commands of docs/cluster.md. For a group, it makes them for each member
# (member-<n>), and one for programs (program), by the commands of docs/cluster-replication.md. For trials and tests: a
# real authority keeps its key elsewhere. Nodes over ZeroMQ (curve) need no authority. Each of these nodes gets a key
# (curve-<n>.key), and there is a file with the public keys of all nodes (curve-nodes.pem).
set -euo pipefail

(($# >= 2)) || {
    printf 'usage: certificates.sh <folder> <count> [<name of the cluster, or group> [node|member|curve]]\n' >&2
    exit 2
}
folder=$1 count=$2 name=${3:-tutti} kind=${4:-node}
mkdir -p "$folder"
cd "$folder"

# sign <file> <DNS name>
sign() {
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj "/CN=$2" \
        -keyout "$1.key" -out "$1.csr" 2>openssl.log
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -out "$1.pem" \
        -extfile <(printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$2") 2>openssl.log
    rm "$1.csr"
}

if [[ $kind == curve ]]; then
    for ((n = 0; n < count; ++n)); do
        openssl genpkey -algorithm X25519 -out "curve-$n.key"
        openssl pkey -in "curve-$n.key" -pubout
    done >curve-nodes.pem
    exit
fi
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 3650 -subj "/CN=$name authority" \
    -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.pem 2>openssl.log
case $kind in
    node) for ((n = 0; n < count; ++n)); do sign "node-$n" "node-$n.$name"; done ;;
    member)
        for ((n = 0; n < count; ++n)); do sign "member-$n" "member.$name"; done
        sign program "program.$name"
        ;;
    *)
        printf 'certificates.sh: %s is none of node, member and curve\n' "$kind" >&2
        exit 2
        ;;
esac
rm -f openssl.log
