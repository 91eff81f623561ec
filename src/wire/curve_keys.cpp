#include "wire/curve_keys.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <memory>

#include "wire/wire_error.hpp"

namespace tutti::wire {
namespace {

struct freed {
    void operator()(EVP_PKEY* k) const noexcept { ::EVP_PKEY_free(k); }
    void operator()(BIO* b) const noexcept { ::BIO_free_all(b); }
};
using file = std::unique_ptr<BIO, freed>;
using key = std::unique_ptr<EVP_PKEY, freed>;

file open(const std::string& name) {
    file f{::BIO_new_file(name.c_str(), "r")};
    ::ERR_clear_error();
    if (!f) throw wire_error{"keys of ZeroMQ: " + name + " cannot be read"};
    return f;
}

/// Returns no passphrase, because no user can enter one.
int no_passphrase(char*, int, int, void*) { return 0; }

using part_reader = int (*)(const EVP_PKEY*, unsigned char*, std::size_t*);

curve_key bytes_of(const key& of, part_reader part, const std::string& name) {
    curve_key bytes{};
    std::size_t size = bytes.size();
    const bool right = ::EVP_PKEY_get_id(of.get()) == EVP_PKEY_X25519 && part(of.get(), bytes.data(), &size) == 1 &&
                       size == bytes.size();
    ::ERR_clear_error();
    if (!right) {
        throw wire_error{"keys of ZeroMQ: " + name +
                         " has another kind of key: make one with openssl genpkey -algorithm X25519"};
    }
    return bytes;
}

}  // namespace

curve_keys curve_keys::read(const curve_files& files, std::optional<node_number> self, std::size_t nodes) {
    if (files.key.empty() || files.nodes.empty()) {
        throw wire_error{
            "encryption over ZeroMQ needs two files, the private key of this node and the public keys of all nodes: "
            "give the missing one"};
    }
    curve_keys all;
    const key own{::PEM_read_bio_PrivateKey(open(files.key).get(), nullptr, no_passphrase, nullptr)};
    ::ERR_clear_error();
    if (!own) throw wire_error{"keys of ZeroMQ: " + files.key + " has no private key without a passphrase"};
    all.secret = bytes_of(own, ::EVP_PKEY_get_raw_private_key, files.key);
    const file of_all = open(files.nodes);
    while (const key next{::PEM_read_bio_PUBKEY(of_all.get(), nullptr, no_passphrase, nullptr)}) {
        const curve_key one = bytes_of(next, ::EVP_PKEY_get_raw_public_key, files.nodes);
        if (const auto other = all.owner_of(one)) {
            throw wire_error{"keys of ZeroMQ: in " + files.nodes + " the nodes " + std::to_string(*other) + " and " +
                             std::to_string(all.nodes.size()) + " have the same key: make one for each"};
        }
        all.nodes.push_back(one);
    }
    ::ERR_clear_error();
    if (all.nodes.size() != nodes) {
        throw wire_error{"keys of ZeroMQ: " + files.nodes + " has " + std::to_string(all.nodes.size()) +
                         " public keys, and there are " + std::to_string(nodes) +
                         " nodes: put the public keys of all nodes into it, in their order"};
    }
    const auto whose = all.owner_of(bytes_of(own, ::EVP_PKEY_get_raw_public_key, files.key));
    if (!whose || (self && whose != self)) {
        throw wire_error{"keys of ZeroMQ: " + files.key + " is not the key of " +
                         (self ? "node " + std::to_string(*self) : std::string{"any node"}) + " in " + files.nodes +
                         ": give this node its own key, or update the list on all nodes"};
    }
    all.own = *whose;
    return all;
}

std::optional<node_number> curve_keys::owner_of(const curve_key& shown) const noexcept {
    const auto at = std::ranges::find(nodes, shown);
    if (at == nodes.end()) return std::nullopt;
    return static_cast<node_number>(at - nodes.begin());
}

}  // namespace tutti::wire
