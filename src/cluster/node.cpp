// The public face: options, nodes, errors, and what the templates of ref.hpp call.
#include "tutti/cluster/node.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "api/companion.hpp"
#include "cluster/node_body.hpp"
#include "tutti/cluster/ref.hpp"

namespace tutti::cluster {

connection_error::~connection_error() = default;
node_lost::~node_lost() = default;
outcome_unknown::~outcome_unknown() = default;
no_such_object::~no_such_object() = default;
type_mismatch::~type_mismatch() = default;
detail::value_holder::~value_holder() = default;

namespace {

std::atomic<std::uint64_t> bodies{0};

std::string text_of(const object_id& id) {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx:%016llx", static_cast<unsigned long long>(id.high),
                  static_cast<unsigned long long>(id.low));
    return text;
}

}  // namespace

node_options node_options::from_environment() {
    node_options how;
    const char* const nodes = std::getenv("TUTTI_CLUSTER_NODES");
    if (nodes == nullptr || *nodes == '\0') return how;
    std::string_view rest{nodes};
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        how.addresses.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    const char* const self = std::getenv("TUTTI_CLUSTER_SELF");
    const std::string_view digits{self != nullptr ? self : ""};
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), how.self);
    if (failed != std::errc{} || end != digits.data() + digits.size() || digits.empty()) {
        throw connection_error{
            "tutti: TUTTI_CLUSTER_SELF says which of TUTTI_CLUSTER_NODES this process is: give a number from 0 on, not "
            "'" +
            std::string{digits} + "'"};
    }
    const auto file = [](const char* variable, std::string& to) {
        if (const char* const name = std::getenv(variable)) to = name;
    };
    file("TUTTI_CLUSTER_CERTIFICATE", how.tls.certificate);
    file("TUTTI_CLUSTER_KEY", how.tls.key);
    file("TUTTI_CLUSTER_AUTHORITY", how.tls.authority);
    return how;
}

// ---- node

node::node() : node{node_options{}} {}
node::node(node_options options) : body_{detail::make_peer_body(options)} {}
node::node(const engine_options& options) : body_{detail::make_engine_body(options)} {}
node::~node() = default;
unsigned node::number() const noexcept { return body_->number(); }
unsigned node::nodes() const noexcept { return body_->nodes(); }
node_statistics node::statistics() const { return body_->statistics(); }
bool node::lost(unsigned number) const noexcept { return body_->lost(number); }
engine_capabilities node::capabilities() const { return body_->capabilities(); }

namespace detail {

node_body::node_body() : number_of_body_{bodies.fetch_add(1, std::memory_order_relaxed) + 1} {}
node_body::~node_body() = default;

opened& node_body::here(tx& t) {
    core::descriptor& d = core::descriptor::of(t);
    // A context finds its own again without a lock; another one on the same thread (preemption, open nesting) looks.
    struct last {
        std::uint64_t body = 0;
        core::descriptor* of = nullptr;
        opened* found = nullptr;
    };
    thread_local last latest;
    if (latest.body == number_of_body_ && latest.of == &d) return *latest.found;
    const std::lock_guard hold{guard_};
    auto& mine = opened_[&d];
    if (!mine) mine = make(d);
    latest = {number_of_body_, &d, mine.get()};
    return *mine;
}

// ---- what ref.hpp calls

slot& open_to_read(tx& t, node_body& n, const object_id& id) {
    api::require_sound(core::descriptor::of(t));
    return n.here(t).open(id);
}

slot& open_to_write(tx& t, node_body& n, const object_id& id) {
    api::require_sound(core::descriptor::of(t));
    if (core::descriptor::of(t).frame_->read_only)
        throw usage_error{
            "tutti: a block that promised to write nothing (read_only) writes an object; drop the promise"};
    opened& e = n.here(t);
    slot& s = e.open(id);
    e.note_for_undo(s);
    return s;
}

void open_together(tx& t, node_body& n, const object_id* ids, std::size_t count) {
    api::require_sound(core::descriptor::of(t));
    n.here(t).open(std::span{ids, count});
}

void refuse_missing(const object_id& id) {
    throw no_such_object{"tutti: there is no object " + text_of(id) + "; publish it first, or use find"};
}
void refuse_second(const object_id& id) {
    throw no_such_object{"tutti: object " + text_of(id) + " exists already; use write to change it"};
}
void refuse_type(const object_id& id, const char* wanted, const char* why) {
    throw type_mismatch{"tutti: object " + text_of(id) + " is no " + wanted + ": " + why +
                        "; nodes must be built from the same types"};
}

}  // namespace detail
}  // namespace tutti::cluster
