// The public interface: options, nodes, errors, and the functions that the templates of ref.hpp call.
#include "tutti/cluster/node.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "api/hooks/data_participant.hpp"
#include "cluster/directory/placement.hpp"
#include "cluster/participant/node_impl.hpp"
#include "tutti/cluster/configuration.hpp"
#include "tutti/cluster/ref.hpp"

namespace tutti::cluster {

node_lost::~node_lost() = default;
outcome_unknown::~outcome_unknown() = default;
no_such_object::~no_such_object() = default;
type_mismatch::~type_mismatch() = default;
detail::value_holder::~value_holder() = default;

namespace {

std::atomic<std::uint64_t> instances{0};

/// Returns the name's text, on one line, and its id. The id is included because other parts of the cluster know only
/// the id.
std::string text_of(const detail::name& of) {
    char id[40];
    std::snprintf(id, sizeof id, "%016llx:%016llx", static_cast<unsigned long long>(of.id().high),
                  static_cast<unsigned long long>(of.id().low));
    if (of.text().empty()) return id;
    std::string text{of.text()};
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return "'" + text + (of.is_cut() ? "...' (" : "' (") + id + ")";
}

/// Returns the type's name as a program writes it: "account" for "7account".
std::string type_named(const char* mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name{abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                           std::free};
    return status == 0 ? name.get() : mangled;
}

}  // namespace

// ---- node

node::node() : node{node_options{}} {}
node::node(node_options options) : impl_{detail::make_peer_node(options)} {}
node::node(const engine_options& options) : impl_{detail::make_engine_node(options)} {}
node::node(const configuration& how)
    : impl_{how.engine ? detail::make_engine_node(*how.engine) : detail::make_peer_node(how.node)} {}
node::~node() = default;
unsigned node::number() const noexcept { return impl_->number(); }
unsigned node::nodes() const noexcept { return impl_->nodes(); }

unsigned node::home(const object_id& id) const noexcept { return home_of(id, static_cast<node_number>(nodes())); }

object_id node::id_at(unsigned number, const object_id& from) const {
    constexpr unsigned shift = 48;
    if (number >= nodes())
        throw usage_error{"node " + std::to_string(number) + " is not in this cluster: nodes are numbered from 0 to " +
                          std::to_string(nodes() - 1)};
    if (from.low >> shift != 0)
        throw usage_error{"id_at chooses the highest 16 bits of the id's low half: leave them 0"};
    // The home of each further id is an arbitrary node, so on average this loop takes as many steps as there are nodes.
    object_id id = from;
    while (home(id) != number) {
        id.low += std::uint64_t{1} << shift;
        if (id.low >> shift == 0) throw usage_error{"no id made of " + text_of(from) + " is at that node"};
    }
    return id;
}

node_statistics node::statistics() const { return impl_->statistics(); }
node_status node::status() const { return impl_->status(); }
std::uint16_t node::metrics_port() const noexcept { return impl_->metrics_port(); }
call_transport* node::calls() const noexcept { return impl_->calls(); }
bool node::lost(unsigned number) const noexcept { return impl_->lost(number); }
engine_capabilities node::capabilities() const { return impl_->capabilities(); }

namespace detail {

node_impl::node_impl() : instance_{instances.fetch_add(1, std::memory_order_relaxed) + 1} {}
node_impl::~node_impl() = default;

node_status node_impl::collect_status() const {
    node_status f;
    f.release = TUTTI_CLUSTER_VERSION;
    const auto up = std::chrono::steady_clock::now() - started_;
    f.uptime_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(up).count());
    f.retry_waiters = api::blocks_in_retry();
    const std::lock_guard hold{guard_};
    f.contexts = participants_.size();
    for (const auto& [context, mine] : participants_) mine->counters().add_to(f);
    return f;
}

node_statistics node_impl::statistics() const {
    const node_status f = status();
    node_statistics s;
    s.commits = f.commits;
    for (std::size_t i = 0; i < rollback_reasons; ++i) {
        if (attempt_counters::is_conflict(static_cast<rollback_reason>(i))) s.aborts += f.rolled_back[i];
    }
    s.round_trips = f.round_trips;
    s.messages_sent = f.messages_sent;
    s.bytes_sent = f.bytes_sent;
    s.system_calls = f.system_calls;
    s.partial_rollbacks = f.partial_rollbacks;
    s.read_only_aborts = f.read_only_aborts;
    s.cached_reads = cached_reads();
    s.transactions_in_doubt = f.transactions_in_doubt;
    return s;
}

void node_impl::destroy_participants() {
    std::unordered_map<core::descriptor*, std::unique_ptr<object_participant>> all;
    const std::lock_guard hold{guard_};  // other threads may read the counts until the swap
    all.swap(participants_);
}

namespace {

// The latest lookup of a thread. By this entry, a context finds its own participant again without a lock. If another
// context has run on the thread meanwhile (preemption, open nesting), the next lookup acquires the lock.
struct cached_lookup {
    std::uint64_t instance = 0;
    core::descriptor* context = nullptr;
    object_participant* participant = nullptr;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local cached_lookup latest;

}  // namespace

bool node_impl::is_cached(const core::descriptor& d) const noexcept {
    return latest.instance == instance_ && latest.context == &d;
}
object_participant& node_impl::cached_participant() const noexcept { return *latest.participant; }
object_participant& node_impl::participant_of(core::descriptor& d) {
    return is_cached(d) ? cached_participant() : find_or_make(d);
}
object_participant& node_impl::participant_of(tx& t) { return participant_of(core::descriptor::of(t)); }

object_participant& node_impl::find_or_make(core::descriptor& d) {
    const std::lock_guard hold{guard_};
    auto& mine = participants_[&d];
    if (!mine) mine = make_participant(d);
    latest = {instance_, &d, mine.get()};
    return *mine;
}

// ---- functions that ref.hpp calls

namespace {

// These functions handle a context that is not the thread's latest, and a transaction that has ended.

[[gnu::noinline]] fast_path_attempt* find_and_open_fast_path(core::descriptor& d, node_impl& n) {
    return d.healthy() ? n.participant_of(d).open_fast_path() : nullptr;
}

[[gnu::noinline]] slot& find_and_open_to_read(core::descriptor& d, const object_id& id, location_hint& found,
                                              node_impl& n) {
    api::require_access(d);
    return n.participant_of(d).open(id, found);
}

[[gnu::noinline]] slot& find_and_open_to_write(core::descriptor& d, const object_id& id, location_hint& found,
                                               node_impl& n) {
    api::require_access(d);
    return n.participant_of(d).open_to_write(id, found);
}

}  // namespace

// Each of the following functions ends in a tail call on every path.

fast_path_attempt* open_fast_path(tx& t, node_impl& n) {
    core::descriptor& d = core::descriptor::of(t);
    if (!n.is_cached(d)) [[unlikely]]
        return find_and_open_fast_path(d, n);
    return n.cached_participant().open_fast_path();
}

slot& open_to_read(tx& t, const object_id& id, location_hint& found, node_impl& n) {
    core::descriptor& d = core::descriptor::of(t);
    if (!n.is_cached(d)) [[unlikely]]
        return find_and_open_to_read(d, id, found, n);
    return n.cached_participant().open(id, found);
}

slot& open_to_write(tx& t, const object_id& id, location_hint& found, node_impl& n) {
    core::descriptor& d = core::descriptor::of(t);
    if (!n.is_cached(d)) [[unlikely]]
        return find_and_open_to_write(d, id, found, n);
    return n.cached_participant().open_to_write(id, found);
}

void open_together(tx& t, node_impl& n, const object_id* ids, std::size_t count) {
    api::require_access(core::descriptor::of(t));
    n.participant_of(t).open(std::span{ids, count});
}

void open_ahead(tx& t, node_impl& n, const object_id* ids, std::size_t count) {
    api::require_access(core::descriptor::of(t));
    n.participant_of(t).prefetch(std::span{ids, count});
}

void acquire_names(tx& t, node_impl& n, const named_lock* locks, std::size_t count) {
    api::require_access(core::descriptor::of(t));
    n.participant_of(t).acquire(std::span{locks, count});
}

void refuse_missing(const name& of) {
    throw no_such_object{"tutti: there is no object " + text_of(of) + "; publish it first, or use find"};
}
void refuse_second(const name& of) {
    throw no_such_object{"tutti: object " + text_of(of) + " exists already; use write to change it"};
}
void refuse_type(const name& of, const char* wanted, const char* why) {
    throw type_mismatch{"tutti: object " + text_of(of) + " is no " + type_named(wanted) + ": " + why +
                        "; nodes must be built from the same types"};
}

void refuse_version(const name& of, const char* wanted, std::uint32_t written, std::uint32_t known) {
    throw type_mismatch{"tutti: object " + text_of(of) + " was written as version " + std::to_string(written) + " of " +
                        type_named(wanted) + ", and this program knows versions up to " + std::to_string(known) +
                        ": run programs that know the new version everywhere before one of them writes it"};
}

}  // namespace detail
}  // namespace tutti::cluster
