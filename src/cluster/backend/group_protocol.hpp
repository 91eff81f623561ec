// The protocol between programs and members of a group: a hello, its answer, and frames.
//
//   GPR1  A connection begins with a `hello` and its text, and the `welcome` that answers it. Both are the same in
//         every version of the protocol, so that members of another version can report the difference. After a member's
//         hello, the connection is one of C-Raft's. After a program's hello, frames follow: a length of four bytes, and
//         a message.
//   GPR2  A connection has one pending request. The member sends a keep-alive every `keep_alive_interval` until the
//         request is answered, and while a stream is followed. If a program receives nothing for `silence_timeout`, the
//         member is stopped or disconnected, and not just waiting for its disk.
//   GPR3  A request that is answered with `not_leader` was not executed, and never will be. A request that is answered
//         with `lost` may be executed later (ENG4).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"

namespace tutti::cluster::backend::group {

inline constexpr std::uint32_t protocol_version = 4;
inline constexpr std::uint64_t hello_magic = 0x7075'6f72'6769'7474;  // "ttigroup", as its bytes are sent
inline constexpr std::size_t max_frame = 16u << 20;                  ///< of a request
inline constexpr std::size_t max_reply = 64u << 20;                  ///< of an answer
inline constexpr std::size_t max_hello_text = 300;
inline constexpr std::size_t max_commit_bytes = 4u << 20;  ///< keys and values that one entry of the log writes
inline constexpr std::size_t max_keys = 32768;             ///< keys of one request; more keys need several requests
inline constexpr std::chrono::milliseconds keep_alive_interval{200};
inline constexpr std::chrono::milliseconds silence_timeout{1000};

enum class peer_kind : std::uint32_t { program = 1, member = 2 };

struct hello {
    std::uint64_t magic = hello_magic;
    std::uint32_t version = protocol_version;
    peer_kind kind = peer_kind::program;
    std::uint64_t group = 0;        ///< 0: any group
    std::uint64_t own_id = 0;       ///< for a member: its id
    std::uint64_t expected_id = 0;  ///< for a member: the id of the member that it connects to
    std::uint32_t text_length = 0;  ///< for a member: the length of its address, which follows the hello
    static constexpr std::size_t size = 44;

    template <class V>
    void fields(V& v) {
        v(magic), v(version), v(kind), v(group), v(own_id), v(expected_id), v(text_length);
    }
};

struct welcome {
    std::uint32_t version = protocol_version;
    std::uint8_t refused = 0;  ///< if not 0, the connection is rejected, and `text` contains the reason
    std::uint64_t group = 0;
    std::uint64_t own_id = 0;
    std::string text;

    template <class V>
    void fields(V& v) {
        v(version), v(refused), v(group), v(own_id), v(text);
    }
};

struct version_check {
    std::string of;
    std::uint64_t at = 0;
    template <class V>
    void fields(V& v) {
        v(of), v(at);
    }
};

struct record_write {
    std::string of;
    bool exists = true;
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(of), v(exists), v(bytes);
    }
};

struct held_record {
    bool exists = false;
    std::uint64_t at = 0;
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(exists), v(at), v(bytes);
    }
};

/// A transaction of several groups, and the number of the deciding group. If the id is empty, there is no transaction.
struct transaction_name {
    std::string id;
    std::uint64_t deciding_group = 0;
    template <class V>
    void fields(V& v) {
        v(id), v(deciding_group);
    }
};

struct transaction_request {
    std::vector<version_check> checks;
    std::vector<record_write> writes;
    template <class V>
    void fields(V& v) {
        v(checks), v(writes);
    }
};

enum class request_kind : std::uint8_t {
    get,
    commit,
    forget,
    follow,
    status,
    add,
    remove,
    prepare,
    finish,
    list,
    import_records
};
[[nodiscard]] constexpr request_kind last(request_kind) noexcept { return request_kind::import_records; }

// ---- requests: a request_kind, and one of these

/// Asks for records as of version `at`, or as of now if `at` is 0. Also asks whether the records in `held` have the
/// given versions in that state.
struct get_request {
    std::uint64_t at = 0;
    std::vector<version_check> held;
    std::vector<std::string> wanted;
    template <class V>
    void fields(V& v) {
        v(at), v(held), v(wanted);
    }
};

struct commit_request {
    std::vector<transaction_request> all;
    template <class V>
    void fields(V& v) {
        v(all);
    }
};

/// A group's part of a transaction of several groups. The answer is a commit_reply for one transaction. Programs send
/// this request only once.
struct prepare_request {
    transaction_name transaction;
    transaction_request content;
    template <class V>
    void fields(V& v) {
        v(transaction), v(content);
    }
};

/// The decision about a prepared transaction. The answer is a commit_reply for one transaction.
struct finish_request {
    std::string id;
    bool commits = false;
    template <class V>
    void fields(V& v) {
        v(id), v(commits);
    }
};

struct forget_request {
    std::vector<std::string> keys;
    template <class V>
    void fields(V& v) {
        v(keys);
    }
};

inline constexpr std::uint64_t from_now = ~std::uint64_t{0};

/// Asks for the writes to the keys in [from, to) after version `after`, or from now on.
struct follow_request {
    std::string from, to;
    std::uint64_t after = from_now;
    bool values = false;  ///< if true, the answers contain values, and not only keys
    template <class V>
    void fields(V& v) {
        v(from), v(to), v(after), v(values);
    }
};

struct changed_record {
    std::string of;
    held_record value;
    template <class V>
    void fields(V& v) {
        v(of), v(value);
    }
};

/// Asks for the records of some slots, as far as their keys have the given prefix. The answer contains the writes of
/// commits after version `after`. If `after` is 0, the answer is a piece of the list of all records.
struct list_request {
    std::string prefix;
    std::uint32_t slots = 1;
    std::vector<std::uint32_t> wanted_slots;
    std::uint64_t after = 0;
    std::uint64_t member = 0, buckets = 0, next = 0;  ///< the position that the last answer contained
    template <class V>
    void fields(V& v) {
        v(prefix), v(slots), v(wanted_slots), v(after), v(member), v(buckets), v(next);
    }
};

/// Records of another group, with their versions. The answer is a commit_reply for one transaction.
struct import_request {
    std::vector<version_check> checks;
    std::vector<changed_record> records;
    std::uint64_t absence = 0;  ///< the `absence` of the other group
    template <class V>
    void fields(V& v) {
        v(checks), v(records), v(absence);
    }
};

struct empty_body {
    template <class V>
    void fields(V&) {}
};

/// Names a member that is to become a voter, or to be removed.
struct change_request {
    std::uint64_t id = 0;
    std::string address;
    template <class V>
    void fields(V& v) {
        v(id), v(address);
    }
};

// ---- answers: a reply_status, and one of these

enum class reply_status : std::uint8_t {
    keep_alive,  ///< no answer yet (GPR2); nothing follows
    done,        ///< the answer follows
    not_leader,  ///< this member does not lead; the text is the leader's address, or empty
    lost,        ///< it is unknown whether the request will be done; a text follows
    refused,     ///< the request will never be done; the text is the reason
    stream,      ///< the next part of a stream: stream_reply
};
[[nodiscard]] constexpr reply_status last(reply_status) noexcept { return reply_status::stream; }

struct text_reply {
    std::string text;
    template <class V>
    void fields(V& v) {
        v(text);
    }
};

struct get_reply {
    bool current = false;            ///< `held` are current, and the version is still kept
    std::uint64_t at = 0;            ///< version of the state; if not current, a version that has the conflicting write
    std::vector<held_record> found;  ///< the first of `wanted`, as many as fit into an answer, but at least one
    transaction_name blocked_by{};   ///< if not current: the prepared transaction in the way, if there is one
    template <class V>
    void fields(V& v) {
        v(current), v(at), v(found), v(blocked_by);
    }
};

struct commit_result {
    bool good = false;
    std::uint64_t at = 0;           ///< version of its writes; for a conflict, a version that has the conflicting write
    transaction_name blocked_by{};  ///< for a conflict: the prepared transaction in the way
    template <class V>
    void fields(V& v) {
        v(good), v(at), v(blocked_by);
    }
};

struct commit_reply {
    std::vector<commit_result> all;
    template <class V>
    void fields(V& v) {
        v(all);
    }
};

struct list_reply {
    bool is_known = true;  ///< false: writes after that version are not kept any more
    std::uint64_t at = 0;  ///< version of the state; for changes, the version that the next ones follow
    bool is_finished = false;
    std::uint64_t member = 0, buckets = 0, next = 0;
    std::vector<changed_record> all;
    std::vector<transaction_name> prepared;  ///< transactions of these records, as many as a list takes; empty for
                                             ///< changes
    std::uint64_t absence = 0;               ///< the version of keys that have no record
    template <class V>
    void fields(V& v) {
        v(is_known), v(at), v(is_finished), v(member), v(buckets), v(next), v(all), v(prepared), v(absence);
    }
};

struct stream_reply {
    std::vector<changed_record> all;
    template <class V>
    void fields(V& v) {
        v(all);
    }
};

/// A member in the group's configuration.
struct listed_member {
    std::uint64_t id = 0;
    std::string address;
    bool votes = false;
    template <class V>
    void fields(V& v) {
        v(id), v(address), v(votes);
    }
};

struct status_reply {
    std::uint64_t id = 0;
    std::string address;
    std::string state;   ///< leader, follower, candidate
    std::string leader;  ///< its address, or empty
    std::uint64_t term = 0, last_index = 0, applied_index = 0, version = 0, records = 0, bytes = 0, connections = 0;
    std::uint64_t connections_rejected = 0;
    std::uint64_t prepared = 0;  ///< transactions of several groups that wait here for their decision
    std::string error;           ///< empty, or a problem that the operator should examine
    std::vector<listed_member> members;
    template <class V>
    void fields(V& v) {
        v(id), v(address), v(state), v(leader), v(term), v(last_index), v(applied_index), v(version), v(records),
            v(bytes), v(connections), v(connections_rejected), v(prepared), v(error), v(members);
    }
};

// ---- frames

/// Returns a frame with all the parts in order.
template <class... Parts>
[[nodiscard]] std::string frame(const Parts&... parts) {
    std::string all(4, '\0');
    wire::writer to{all};
    (to(parts), ...);
    const auto length = static_cast<std::uint32_t>(all.size() - 4);
    std::memcpy(all.data(), &length, 4);
    return all;
}

/// Removes a head from the front of a message. Returns false if the message has no valid head.
template <class Head>
[[nodiscard]] bool take_head(std::string_view& message, Head& head) {
    if (message.size() < sizeof head) return false;
    wire::reader from{message.substr(0, sizeof head)};
    from(head);
    message.remove_prefix(sizeof head);
    return from.is_valid();
}

}  // namespace tutti::cluster::backend::group
