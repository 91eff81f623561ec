/// @file
/// Members of a group that keeps objects on several disks: what `tutti member` is; how a group is asked and changed.
///
///     tutti::cluster::member one{{.folder = "/var/lib/tutti/a", .address = "127.0.0.1:7001", .founds = true}, say};
///     one.run();  // until one.stop() on another thread
///
/// Programs reach the group by `engine_options::address`: `tutti://127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003`.
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
    std::string folder;  ///< of this member alone; made if it is not there
    /// Where it listens: `host:port`, the host a name, a number of IPv4, or one of IPv6 in brackets; empty: as it was
    /// when the member began. Others reach it by this address if there is no `advertise`.
    std::string address;
    bool founds = false;             ///< begins a new group; nothing where the folder knows one
    std::vector<std::string> joins;  ///< addresses of members of the group that a new member joins
    /// A leader that has not been heard of for so long, or up to twice as long, is replaced; not less than 50 ms.
    std::chrono::milliseconds election{300};
    /// Members and programs speak TLS alone, and the address may be beyond loopback. The certificate of a member is
    /// made for the DNS name `member.<group_name>`. Files that change are read before the next connection.
    tls_options tls{};
    std::string group_name = "tutti";  ///< of certificates; the same for all members and programs
    /// What others reach it by, if that is not `address`: the name of a machine, or the outer address of a container.
    /// `address` may be 0.0.0.0 or [::] then, under TLS. Empty: as it was when the member began.
    std::string advertise{};
    /// Where Prometheus may ask at /metrics: `host:port` of loopback; port 0: the system chooses. Empty: nowhere.
    std::string metrics{};
    /// The member writes its objects into a snapshot, and drops the log before it, when the log has grown by so many
    /// bytes since the last one, and by as many as that one has. It keeps the log in memory, too. Not less than 64 KiB.
    std::size_t snapshot_bytes = std::size_t{64} << 20;
};

/// Why there is no such member, or why it has ended: the message says what to do.
class TUTTI_EXPORT member_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~member_error() override;
};

/// One member, in the thread that runs it.
class TUTTI_EXPORT member {
public:
    enum class weight : std::uint8_t { info, warning, error };
    /// Lines for the operator, on threads of the member's.
    using say = std::function<void(weight, const std::string&)>;

    /// Listens, and loads what its folder has. @throws member_error
    member(const member_options& options, say tell);
    ~member();
    member(const member&) = delete;
    member& operator=(const member&) = delete;

    /// Takes part until `stop`. @throws member_error: it cannot go on, such as with a full disk
    void run();
    /// Any thread: `run` hands the lead over, if it has it, and returns.
    void stop() noexcept;
    /// Any thread, for a watchdog: grows, several times a second, while `run` does its work.
    [[nodiscard]] std::uint64_t turns() const noexcept;
    /// Where `member_options::metrics` is served; 0: nowhere.
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;

private:
    struct body;
    std::unique_ptr<body> body_;
};

/// A member as the group knows it, and what it says itself.
struct member_facts {
    std::uint64_t id = 0;
    std::string address;
    bool votes = false;
    std::string trouble;  ///< it has not answered, or says what an operator should look at
    std::string state;    ///< leader, follower, candidate; empty: it has not answered
    std::uint64_t term = 0, last_index = 0, applied_index = 0;
    std::uint64_t version = 0;  ///< of the last commit that it has applied
    std::uint64_t objects = 0, bytes = 0;
    std::uint64_t programs = 0;     ///< connected to it
    std::uint64_t turned_away = 0;  ///< connections that it has refused since it was started
    std::uint64_t prepared = 0;     ///< transactions of several groups that wait here for their decision
};

struct group_facts {
    std::uint64_t group = 0;
    std::string leader;   ///< its address; empty: the group has none now
    std::string trouble;  ///< none of the addresses has answered
    std::vector<member_facts> members;
};

/// Asks one of `addresses` for the members, and each member for its facts; waits for each answer for `within` at most.
/// Under TLS it takes the certificate of a program, or a member's. @throws member_error: addresses or files make no
/// sense
[[nodiscard]] TUTTI_EXPORT group_facts ask_group(const std::vector<std::string>& addresses,
                                                       std::chrono::milliseconds within, const tls_options& tls = {},
                                                       const std::string& group_name = "tutti");

/// Takes a member out of the group, which it need not be up for; under TLS with the certificate of a member.
/// @throws member_error
TUTTI_EXPORT void remove_member(const std::vector<std::string>& addresses, std::uint64_t id,
                                       std::chrono::milliseconds within, const tls_options& tls = {},
                                       const std::string& group_name = "tutti");

/// Makes the member of a folder, which does not run, the only member of a new group with the objects that its log has:
/// for a group that has lost its majority for good. What the lost members had acknowledged, and this one has not, is
/// lost; choose the member whose log is the longest. Members of the old group must not be started again, and programs
/// have to be. Of `how` count `folder` and TLS. @throws member_error
TUTTI_EXPORT void force_new_group(const member_options& how);

/// An address of a member, and the one that it has from now on.
struct moved_address {
    std::string from, to;
};

/// Changes what the folder of a member says of its own address and of those of others, while that member does not run.
/// All members may have moved at once: then each folder is told of all. Otherwise the folder of a member that has moved
/// is enough, because it tells the others when it calls them. O(members). @throws member_error: an address is not
/// known, or makes no sense; then nothing is changed
TUTTI_EXPORT void readdress_member(const std::string& folder, const std::vector<moved_address>& all);

/// What is in the folder of a member that does not run.
struct member_log {
    std::uint64_t id = 0, group = 0;
    std::uint64_t term = 0;
    std::uint64_t snapshot = 0;         ///< the last entry that the snapshot holds; 0: there is none
    std::uint64_t snapshot_bytes = 0;   ///< of its file
    std::uint64_t first = 1, last = 0;  ///< entries of the log that can be read one after the other; last < first: none
    std::uint64_t bytes = 0;            ///< of these
    std::uint64_t owed = 0;  ///< the member has lost entries up to here, and does not vote until it has them; 0: none
    std::vector<std::string> damage{};  ///< what is not whole, one line each; empty: a start reads all that there was
    std::vector<std::string> notes{};   ///< what a start cuts off, or does not read
};

/// Reads all, and changes nothing. @throws member_error  where no member lives there, or one runs there
[[nodiscard]] TUTTI_EXPORT member_log check_member_folder(const std::string& folder);

struct member_repair {
    member_log now{};
    std::uint64_t lost_upto = 0;  ///< the last entry that is known to have been there; not above `now`'s: none is lost
    std::string kept_as{};        ///< the log as it was; empty: nothing was done
    bool waits = false;           ///< it does not vote until the leader has given it again what it has lost
};

/// Puts a log of all that is whole in the place of a damaged one, which gets a new name beside it.
/// @throws member_error  as check_member_folder, and where a member could not go on with what is left; nothing changed
[[nodiscard]] TUTTI_EXPORT member_repair repair_member_folder(const std::string& folder);

}  // namespace tutti::cluster
