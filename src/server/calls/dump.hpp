// The data of procedures in a snapshot. The data consist of pieces. Each piece begins with the name of the data that it
// belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/calls/catalog.hpp"

namespace tutti::server {

/// Receives the pieces of a dump while it runs.
class snapshot_sink {
public:
    virtual void put(std::string piece) = 0;
    /// Removes all pieces except for the first `count`, because the block that has put the other pieces was rolled
    /// back.
    virtual void truncate(std::uint64_t count) = 0;

protected:
    snapshot_sink() = default;
    ~snapshot_sink() = default;
};

/// Runs the dump functions of all data in one read-only transaction. @throws what the dump functions and `to` throw
void dump(const catalog& procedures, snapshot_sink& to);

/// Splits a piece into the name of the data and the bytes. @throws std::runtime_error  if the piece is too short
[[nodiscard]] std::pair<std::string_view, std::string_view> name_and_bytes(std::string_view piece);

}  // namespace tutti::server
