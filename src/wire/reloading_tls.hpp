// TLS for a process that runs longer than its certificates are valid.
//
// Changed files are read before the next connection. If the changed files are invalid, the former content stays in use,
// because a certificate and its key cannot be replaced at the same instant. Existing connections continue.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "wire/tls.hpp"

namespace tutti::wire {

class reloading_tls {
public:
    /// Reads the files as `tls` does. Throws wire_error.
    reloading_tls(tls_files files, std::vector<std::string> own_names);

    /// Returns the TLS settings for the next connection.
    [[nodiscard]] std::shared_ptr<const tls> current();
    /// Returns why the current files are not in use, or an empty string if they are.
    [[nodiscard]] std::string error() const;

private:
    /// The metadata of a file.
    struct stamp {
        std::uint64_t file = 0, bytes = 0;
        std::int64_t seconds = 0, nanoseconds = 0;
        bool operator==(const stamp&) const = default;
    };
    using stamps = std::array<stamp, 3>;
    [[nodiscard]] stamps read_stamps() const;

    const tls_files files_;
    const std::vector<std::string> own_names_;
    mutable std::mutex guard_;
    stamps stamps_;
    std::shared_ptr<const tls> current_;
    std::string error_;
};

}  // namespace tutti::wire
