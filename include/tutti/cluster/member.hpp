/// @file
/// Members of a group that keeps objects on several disks, and functions that query and change a group. `tutti member`
/// runs such a member.
///
///     tutti::cluster::member_options options{.data_dir = "/var/lib/tutti/a", .new_group = true};
///     options.address = "127.0.0.1:7001";
///     tutti::cluster::member one{options, log};
///     one.run();  // until one.stop() on another thread
///
/// Programs reach the group through `engine_options::address`: `tutti://127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tutti/cluster/tls.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::cluster {

struct member_options {
    std::string data_dir;  ///< the folder of this member, used by no other; created if missing
    /// The address on which the member listens: `host:port`. The host is a name, an IPv4 address, or an IPv6 address in
    /// brackets. Empty: the address of the member's last start. Programs and other members connect to this address if
    /// `advertise` is not set.
    std::string address;
    bool new_group = false;         ///< begins a new group; has no effect if the folder already belongs to a group
    std::vector<std::string> join;  ///< addresses of members of the group that this new member joins
    /// A leader that has been silent for this long, or up to twice as long, is replaced. At least 50 ms.
    std::chrono::milliseconds election_timeout{300};
    /// TLS files. If set, members and programs must use TLS, and the address may be outside loopback. A member's
    /// certificate is made for the DNS name `member.<group_name>`. The member reads changed files before the next
    /// connection.
    tls_options tls{};
    std::string group_name = "tutti";  ///< the group name in certificates; the same for all members and programs
    /// The address to which programs and other members connect, if it differs from `address`: a machine's name, or a
    /// container's outer address. With TLS, `address` may then be 0.0.0.0 or [::]. Empty: the value of the member's
    /// last start.
    std::string advertise{};
    /// The loopback address `host:port` on which Prometheus can read /metrics. Port 0: the system chooses a port.
    /// Empty: the member serves no metrics.
    std::string metrics{};
    /// The log growth, in bytes, after which the member writes a snapshot and drops the older log. The log must also
    /// have grown by the size of the last snapshot. The member keeps the log in memory as well. At least 64 KiB.
    std::size_t snapshot_bytes = std::size_t{64} << 20;
};

/// The member cannot start, or has ended. The message says what to do.
class TUTTI_EXPORT member_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~member_error() override;
};

/// One member of a group. The member runs on the thread that calls `run`.
class TUTTI_EXPORT member {
public:
    enum class severity : std::uint8_t { info, warning, error };
    /// Receives messages for the operator, on threads of the member.
    using log_callback = std::function<void(severity, const std::string&)>;

    /// Listens, and loads the contents of the folder. @throws member_error
    member(const member_options& options, log_callback callback);
    ~member();
    member(const member&) = delete;
    member& operator=(const member&) = delete;

    /// Takes part in the group until `stop`. @throws member_error  if the member cannot continue, for instance because
    /// the disk is full
    void run();
    /// Makes `run` return. If the member is the leader, `run` first tries to transfer the leadership to another member.
    /// You can call this function from any thread.
    void stop() noexcept;
    /// Returns a counter for a watchdog. The counter grows several times a second while `run` makes progress. You can
    /// call this function from any thread.
    [[nodiscard]] std::uint64_t loop_iterations() const noexcept;
    /// Returns the port that serves `member_options::metrics`; 0: no port.
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

/// What the group has recorded about a member, and what the member itself reports.
struct member_status {
    std::uint64_t id = 0;
    std::string address;
    bool votes = false;
    std::string error;  ///< why the member has not answered, or a problem that it reports to the operator
    std::string state;  ///< leader, follower or candidate; empty: the member has not answered
    std::uint64_t term = 0, last_index = 0, applied_index = 0;
    std::uint64_t version = 0;  ///< version of the last commit that the member has applied
    std::uint64_t objects = 0, bytes = 0;
    std::uint64_t connections = 0;           ///< number of programs that are connected to the member
    std::uint64_t connections_rejected = 0;  ///< number of connections that the member has rejected since its start
    std::uint64_t prepared = 0;  ///< number of prepared transactions over several groups that await their decision
};

struct group_status {
    std::uint64_t group = 0;
    std::string leader;  ///< address of the leader; empty: the group has no leader now
    std::string error;   ///< the reason why none of the addresses has answered
    std::vector<member_status> members;
};

/// Requests the list of members from one of `addresses`, and the status from each member. Waits at most `timeout` for
/// each answer. With TLS, accepts the certificate of a program or of a member.
/// @throws member_error  if the addresses or the files are invalid
[[nodiscard]] TUTTI_EXPORT group_status query_group(const std::vector<std::string>& addresses,
                                                          std::chrono::milliseconds timeout,
                                                          const tls_options& tls = {},
                                                          const std::string& group_name = "tutti");

/// Removes a member from the group. The member need not be running. With TLS, requires the certificate of a member.
/// @throws member_error
TUTTI_EXPORT void remove_member(const std::vector<std::string>& addresses, std::uint64_t id,
                                       std::chrono::milliseconds timeout, const tls_options& tls = {},
                                       const std::string& group_name = "tutti");

/// Makes the member of a folder the only member of a new group. The new group has the objects in the member's log. Use
/// this function if a group has lost its majority permanently. The member must not be running. All writes that only the
/// lost members have acknowledged are lost, so choose the member with the longest log. Do not start members of the old
/// group again. Restart all programs. Of `how`, only `data_dir` and TLS are used.
/// @throws member_error
TUTTI_EXPORT void force_new_group(const member_options& how);

/// A member's old address and its new address.
struct moved_address {
    std::string from, to;
};

/// Changes the addresses that a member's folder contains: the member's own and those of other members. The member must
/// not be running. If all members have moved at once, apply all changes to each folder. Otherwise change only the
/// folder of the member that has moved. This member reports its new address to the other members when it connects to
/// them. O(members).
/// @throws member_error  if an address is unknown or invalid; then nothing has changed
TUTTI_EXPORT void readdress_member(const std::string& folder, const std::vector<moved_address>& all);

/// The contents of the folder of a member that is not running.
struct member_log {
    std::uint64_t id = 0, group = 0;
    std::uint64_t term = 0;
    std::uint64_t snapshot = 0;         ///< last entry in the snapshot; 0: there is no snapshot
    std::uint64_t snapshot_bytes = 0;   ///< size of the snapshot's file
    std::uint64_t first = 1, last = 0;  ///< first and last entry readable without a gap; last < first: none
    std::uint64_t bytes = 0;            ///< size of these entries
    /// The last log entry that the member has lost. The member does not vote until it has received all lost entries
    /// again. 0: no entry is lost.
    std::uint64_t lost_upto = 0;
    std::vector<std::string> damage{};  ///< damaged parts, one line each; empty: a start reads everything
    std::vector<std::string> notes{};   ///< parts that a start cuts off or does not read, one line each
};

/// Reads the whole folder and changes nothing. @throws member_error  if the folder has no member, or its member is
/// running
[[nodiscard]] TUTTI_EXPORT member_log check_member_folder(const std::string& folder);

struct member_repair {
    member_log now{};
    std::uint64_t lost_upto = 0;       ///< last entry known to have existed; not above `now.last`: no entry is lost
    std::string kept_as{};             ///< name of the old log; empty: nothing was done
    bool awaits_lost_entries = false;  ///< the member does not vote until the leader has sent it the lost entries again
};

/// Replaces a damaged log by a log of all intact entries. The damaged log is renamed, and stays in the folder.
/// @throws member_error  in the same cases as check_member_folder, and if a member could not continue from the
/// remaining entries; then nothing has changed
[[nodiscard]] TUTTI_EXPORT member_repair repair_member_folder(const std::string& folder);

}  // namespace tutti::cluster
