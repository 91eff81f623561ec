// The one port of a member: a connection begins with a handshake of TLS, where members have certificates, and a hello,
// and is then one of C-Raft's, or a program's.
//
//   GTR1  A connection that has not said who it is keeps its place for two seconds, and little memory: a hello, or what a
//       handshake takes. One more than `most_greeting` takes the place of the oldest. What strangers do ends their
//       connection alone.
//   GTR2  The member tells a connection that it refuses why, as well as it can be told, and its operator (throttled_log.hpp).
//
// C-Raft has a transport of its own, which believes every caller that it is the member that it says. Here both sides
// say which group they are of, and a member is asked for by its id: one that has lost its disk has another id
// (data_directory.hpp), and is not taken for the one that it was.
//
// Thread safety: none; the loop's thread.
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
    /// A number of C-Raft's for a second connection to a member: its id, and this. Ids have 63 bits.
    static constexpr std::uint64_t second_connection = std::uint64_t{1} << 63;
    struct self {
        std::uint64_t id = 0;
        std::uint64_t group = 0;
        std::string address;                                         ///< that others reach it by
        std::shared_ptr<backend::group::credentials> credentials{};  ///< null: in the clear
        std::string listen{};                                        ///< where it listens; empty: at its address
    };
    /// Gets a program's connection, which has been welcomed.
    using on_program_connected = std::function<void(identified_connection)>;
    /// A line for the operator.
    using log_function = std::function<void(const std::string&)>;

    /// Listens. `where` knows and learns where others are, and outlives it. Throws backend::refusal.
    transport(uv_loop_t& loop, self who, address_book& where, on_program_connected take, log_function log_to);
    /// REQUIRES: the loop has run until C-Raft has closed its transport.
    ~transport();
    transport(const transport&) = delete;
    transport& operator=(const transport&) = delete;

    [[nodiscard]] raft_uv_transport* raft() noexcept;
    /// Now and then: ends connections that have not said what they are.
    void end_overdue_handshakes();
    /// Connections that were turned away.
    [[nodiscard]] std::uint64_t connections_rejected() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti::cluster::replica
