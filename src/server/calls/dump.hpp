// What procedures' data become in a snapshot: pieces, each of which begins with the name of its data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "server/calls/catalog.hpp"

namespace tutti::server {

/// Where the pieces of a dump go, as they are made.
class piece_sink {
public:
    virtual void put(std::string piece) = 0;
    /// Takes back all but the first `count`: a block that had put them is rolled back.
    virtual void take_back(std::uint64_t count) = 0;

protected:
    piece_sink() = default;
    ~piece_sink() = default;
};

/// Runs the dumps of all data in one transaction, which reads only. @throws what they and `to` throw
void dump(const catalog& procedures, piece_sink& to);

/// The name of the data and the bytes of a piece. @throws std::runtime_error  when it is too short
[[nodiscard]] std::pair<std::string_view, std::string_view> name_and_bytes(std::string_view piece);

}  // namespace tutti::server
