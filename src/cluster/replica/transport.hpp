// The port of a member. A connection begins with a TLS handshake, if members have certificates, and a hello. Then
// the connection belongs to C-Raft, or to a program.
//
//   GTR1  A connection that has not identified itself within two seconds is closed. Until then it uses little memory: a
//         hello, or the bytes of a handshake. If there are `max_half_open` such connections, a new one replaces the
//         oldest. An error of an unknown client ends only the client's own connection.
//   GTR2  The member sends the reason to a rejected client that can decode it, and also logs the reason for its
//         operator (throttled_log.hpp).
//
// C-Raft's own transport trusts the id that each caller sends. Here both sides name their group, and the caller names
// the id of the member that it wants. A member that has lost its disk has another id (data_directory.hpp), so it cannot
// act as the former member.
//
// Not thread-safe: a transport belongs to the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cluster/backend/group_credentials.hpp"
#include "cluster/backend/group_protocol.hpp"
#include "cluster/replica/address_book.hpp"
#include "cluster/replica/identified_connection.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class transport {
public:
    /// A second connection to a member has its own number in C-Raft: the member's id with this bit set. Ids have 63
    /// bits.
    static constexpr std::uint64_t second_connection = std::uint64_t{1} << 63;
    struct self {
        std::uint64_t id = 0;
        std::uint64_t group = 0;
        std::string address;                                         ///< the address by which others reach it
        std::shared_ptr<backend::group::credentials> credentials{};  ///< null: in the clear
        std::string listen{};                                        ///< where it listens; empty: at its address
    };
    /// Receives a program's connection whose hello has been accepted.
    using on_program_connected = std::function<void(identified_connection)>;
    /// Receives a line for the operator.
    using log_function = std::function<void(const std::string&)>;

    /// Listens. `where` has the addresses of other members, and receives new addresses. `where` must outlive this
    /// object. Throws backend::engine_error.
    transport(uv_loop_t& loop, self who, address_book& where, on_program_connected take, log_function log_to);
    /// REQUIRES: C-Raft has closed its transport, and the loop has run until then.
    ~transport();
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    [[nodiscard]] raft_uv_transport* raft() noexcept;
    /// Ends connections that have not identified themselves in time. Call it periodically.
    void end_overdue_handshakes();
    /// Returns the number of rejected connections.
    [[nodiscard]] std::uint64_t connections_rejected() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti::cluster::replica
