// Converts the TLS settings of the public interface to those of a connection.
#pragma once

#include "tutti/cluster/tls.hpp"
#include "wire/tls.hpp"

namespace tutti::cluster {

[[nodiscard]] inline wire::tls_files files_of(const tls_options& how) {
    return {
        .certificate = how.certificate,
        .key = how.key,
        .authority = how.authority,
        .protocol = {.minimum_version = how.minimum_version, .ciphers = how.ciphers, .ciphersuites = how.ciphersuites}};
}

}  // namespace tutti::cluster
