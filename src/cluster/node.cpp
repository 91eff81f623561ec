// The public face: options, nodes, errors, and what the templates of ref.hpp call.
#include "tutti/cluster/node.hpp"

#include <algorithm>
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

const node_options& checked(const node_options& how) {
    const std::size_t nodes = how.addresses.size();
    if (nodes > store::most_nodes)
        throw connection_error{"tutti: a cluster has at most " + std::to_string(store::most_nodes) + " nodes"};
    if (how.self >= std::max<std::size_t>(nodes, 1)) {
        throw connection_error{"tutti: node " + std::to_string(how.self) + " is none of the " + std::to_string(nodes) +
                               " nodes: `self` counts from 0"};
    }
    return how;
}

wire::socket_options socket_options_of(const node_options& how) {
    wire::socket_options s;
    s.self = static_cast<node_number>(how.self);
    s.addresses = how.addresses;
    std::string all = how.cluster;
    for (const std::string& a : how.addresses) all += '\n' + a;
    s.cluster = object_id{all}.low;
    s.connect_within = how.connect_within;
    s.largest = how.largest_message;
    return s;
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
    return how;
}

// ---- node

node::node() : node{node_options{}} {}
node::node(node_options options) : body_{std::make_unique<detail::node_body>(options)} {}
node::~node() = default;
unsigned node::number() const noexcept { return body_->at().self; }
unsigned node::nodes() const noexcept { return body_->at().nodes; }
node_statistics node::statistics() const { return body_->statistics(); }

namespace detail {

node_body::node_body(const node_options& how) try
    : how_{checked(how)},
      number_of_body_{bodies.fetch_add(1, std::memory_order_relaxed) + 1},
      site_{static_cast<node_number>(how.self),
            static_cast<node_number>(std::max<std::size_t>(how.addresses.size(), 1)),
            how.placement == placement::writer ? moving::to_writer : moving::never},
      channel_{site_, socket_options_of(how), how.patience} {
} catch (const wire::refusal& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}
node_body::~node_body() = default;

enlistment& node_body::here(tx& t) {
    core::descriptor& d = core::descriptor::of(t);
    // A context finds its own again without a lock; another one on the same thread (preemption, open nesting) looks.
    struct last {
        std::uint64_t body = 0;
        core::descriptor* of = nullptr;
        enlistment* found = nullptr;
    };
    thread_local last latest;
    if (latest.body == number_of_body_ && latest.of == &d) return *latest.found;
    const std::lock_guard hold{guard_};
    auto& mine = enlistments_[&d];
    if (!mine) mine = std::make_unique<enlistment>(site_, channel_.open_line(), d, *this);
    latest = {number_of_body_, &d, mine.get()};
    return *mine;
}

void node_body::refuse_lost(node_number node, bool uncertain) const {
    const std::string who = "node " + std::to_string(node) + " (" +
                            (node < how_.addresses.size() ? how_.addresses[node] : std::string{"here"}) + ")";
    if (uncertain) {
        throw outcome_unknown{"tutti: " + who +
                                  " went when it had been asked to commit: whether this block had its effects is known "
                                  "to nobody else; look when the node is back, or start the cluster anew",
                              node};
    }
    throw node_lost{"tutti: " + who + " is gone or has not answered within " + std::to_string(how_.patience.count()) +
                        " ms; its objects, and those that its last commits hold, cannot be reached. The block had no "
                        "effect",
                    node};
}

node_statistics node_body::statistics() const {
    const wire::sockets::traffic sent = channel_.sent();
    return {commits_.load(std::memory_order_relaxed),
            aborts_.load(std::memory_order_relaxed),
            channel_.round_trips(),
            sent.frames,
            sent.bytes,
            sent.system_calls};
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
    enlistment& e = n.here(t);
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
