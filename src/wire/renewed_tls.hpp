// TLS of a process that outlives its certificates.
//
// Files that have changed are read before the next connection. If they make no sense, those that were read before stay
// in use: a certificate and its key cannot be replaced at one instant. Connections that are there go on.
//
// Thread safety: every member.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wire/tls.hpp"

namespace tutti::wire {

class renewed_tls {
public:
    /// As of `tls`. Throws refusal.
    renewed_tls(tls_files files, std::vector<std::string> own_names);

    /// For the next connection.
    [[nodiscard]] std::shared_ptr<const tls> current();
    /// Why the files as they are now are not in use; empty: they are.
    [[nodiscard]] std::string trouble() const;

private:
    /// What is known of a file without reading it.
    struct stamp {
        std::uint64_t file = 0, bytes = 0;
        std::int64_t seconds = 0, nanoseconds = 0;
        bool operator==(const stamp&) const = default;
    };
    using stamps = std::array<stamp, 3>;
    [[nodiscard]] stamps look() const;

    const tls_files files_;
    const std::vector<std::string> own_names_;
    mutable std::mutex guard_;
    stamps seen_;
    std::shared_ptr<const tls> now_;
    std::string trouble_;
};

}  // namespace tutti::wire
