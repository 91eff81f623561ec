#include "cluster/replica/raft_node.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/raft_node_impl.hpp"

namespace tutti::cluster::replica {

using backend::engine_status;

namespace {

raft_buffer copy(std::string_view bytes) {
    raft_buffer b{.base = raft_malloc(bytes.size()), .len = bytes.size()};
    if (b.base == nullptr) throw std::bad_alloc{};
    std::memcpy(b.base, bytes.data(), bytes.size());
    return b;
}

/// The approximate memory that C-Raft uses for each entry, in addition to the entry's bytes.
constexpr std::size_t entry_bytes = 128;
/// If a member receives a snapshot more slowly than at this rate, the leader sends the snapshot again.
constexpr std::size_t slowest_install_bytes_per_ms = 10'000;

std::string_view view(const raft_buffer& b) { return {static_cast<const char*>(b.base), b.len}; }

}  // namespace

raft_node::impl::impl(raft_node& of, raft_io& io, raft_settings how)
    : of_{of},
      how_{std::move(how)},
      image_writer_{of.state_machine_,
                    how_.image_storage == nullptr ? in_memory_ : *how_.image_storage,
                    {how_.piece_shards, how_.piece_bytes}} {
    if (how_.snapshot_threshold == 0)
        how_.snapshot_threshold =
            static_cast<unsigned>(std::clamp<std::size_t>(how_.snapshot_bytes / entry_bytes, 1, 1u << 30));
    fsm_.version = 3;
    fsm_.data = &of_;
    fsm_.apply = apply;
    fsm_.snapshot = snapshot;
    fsm_.restore = restore;
    fsm_.snapshot_async = snapshot_async;
    fsm_.snapshot_finalize = snapshot_finalize;
    shim::allow_images(io);
    if (const int failed = raft_init(&raft_, &io, &fsm_, how_.self.id, how_.self.address.c_str()); failed != 0)
        throw backend::engine_error{"this member cannot start: " + reason_of(failed)};
    shim_ = std::make_unique<shim>(raft_, io, how_.message_bytes, how_.lost_upto);
    shim_->write_images_by([this] { image_writer_.write([this](int status) { shim_->end_image(status); }); });
    raft_set_election_timeout(&raft_, how_.election_ms);
    raft_set_heartbeat_timeout(&raft_, how_.heartbeat_ms);
    raft_set_snapshot_threshold(&raft_, how_.snapshot_threshold);
    raft_set_install_snapshot_timeout(&raft_, how_.install_ms);
    raft_set_snapshot_trailing(&raft_, how_.snapshot_trailing);
    // With pre-votes, a member that was disconnected does not depose the leader when it returns.
    raft_set_pre_vote(&raft_, true);
}

std::string raft_node::impl::reason_of(int status) {
    const std::string detail = raft_errmsg(&raft_);
    return detail.empty() ? raft_strerror(status) : detail;
}

int raft_node::impl::apply(raft_fsm* fsm, const raft_buffer* bytes, void** result) {
    raft_node& self = *static_cast<raft_node*>(fsm->data);
    impl& b = *self.impl_;
    try {
        b.last_ = self.state_machine_.apply(view(*bytes));
        if (injected(fault::applied_twice)) b.last_ = self.state_machine_.apply(view(*bytes));
    } catch (const std::bad_alloc&) {
        self.unreadable_reason_ = "out of memory for the writes of an entry of the log";  // a part of it may be written
        return RAFT_NOMEM;
    }
    *result = &b.last_;
    if (!b.last_.is_readable) {
        // The member stops here: if it continued, its state would differ from that of members that could read the
        // entry.
        self.unreadable_reason_ = b.last_.why;
        return RAFT_MALFORMED;
    }
    b.count_log_growth(bytes->len);
    if (self.on_change_) self.on_change_();
    return 0;
}

void raft_node::impl::count_log_growth(std::size_t bytes) {
    if (raft_.log.snapshot.last_index != saved_index_) {
        saved_index_ = raft_.log.snapshot.last_index;
        growth_.entries -= std::min(growth_.entries, growth_before_image_.entries);
        growth_.bytes -= std::min(growth_.bytes, growth_before_image_.bytes);
        growth_before_image_ = {};
        raft_set_snapshot_threshold(&raft_, how_.snapshot_threshold);
    }
    ++growth_.entries;
    growth_.bytes += bytes + entry_bytes;
    if (growth_.bytes < std::max(how_.snapshot_bytes, imaged_bytes_)) return;
    const std::size_t each = growth_.bytes / growth_.entries;
    const std::size_t max_entries = std::max<std::size_t>(how_.snapshot_bytes / each / 4, 1);
    raft_set_snapshot_trailing(&raft_,
                               static_cast<unsigned>(std::min<std::size_t>(max_entries, how_.snapshot_trailing)));
    raft_set_snapshot_threshold(&raft_, 1);
}

/// IMG1: C-Raft is about to save the state of this moment.
int raft_node::impl::snapshot(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    const raft_node& self = *static_cast<raft_node*>(fsm->data);
    impl& b = *self.impl_;
    const std::uint64_t now = b.raft_.io->time(b.raft_.io);
    // C-Raft empties its log before it stores a snapshot of another member, and leaves the log empty if the store
    // fails. The last applied entry then has no term. If this function returned 0, C-Raft would ask for another
    // snapshot before the current one is complete.
    if (b.raft_.snapshot.pending.term == 0) return RAFT_BUSY;
    if (b.shim_->has_uncommitted_configuration() || !b.image_writer_.may_begin(now)) return RAFT_BUSY;  // try later
    try {
        b.image_writer_.begin();
    } catch (const std::bad_alloc&) {
        return RAFT_BUSY;
    }
    b.image_writer_.postpone(now + image_writer::retry_ms);
    *bufs = nullptr;
    *n = 0;
    b.imaged_bytes_ = self.state_machine_.statistics().bytes;
    b.growth_before_image_ = b.growth_;
    raft_set_install_snapshot_timeout(
        &b.raft_, b.how_.install_ms + static_cast<unsigned>(b.imaged_bytes_ / slowest_install_bytes_per_ms));
    return 0;
}

int raft_node::impl::snapshot_async(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    impl& b = *static_cast<raft_node*>(fsm->data)->impl_;
    *bufs = static_cast<raft_buffer*>(raft_malloc(sizeof **bufs));
    if (*bufs == nullptr) return RAFT_NOMEM;
    **bufs = b.image_writer_.complete_image();
    if ((*bufs)->base == nullptr) {
        raft_free(std::exchange(*bufs, nullptr));
        return RAFT_NOMEM;
    }
    *n = 1;
    return 0;
}

/// Called when C-Raft no longer needs the image, whether it has stored the snapshot or failed.
int raft_node::impl::snapshot_finalize(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    impl& b = *static_cast<raft_node*>(fsm->data)->impl_;
    raft_free(*bufs);
    *bufs = nullptr;
    *n = 0;
    b.image_writer_.abandon();
    return 0;
}

int raft_node::impl::restore(raft_fsm* fsm, raft_buffer* saved) {
    raft_node& self = *static_cast<raft_node*>(fsm->data);
    try {
        self.state_machine_.load(view(*saved));
    } catch (const backend::engine_error& r) {
        self.unreadable_reason_ = r.what();
        return RAFT_MALFORMED;
    } catch (const std::bad_alloc&) {
        self.unreadable_reason_ = "out of memory for a snapshot of the group";
        return RAFT_NOMEM;
    }
    raft_free(saved->base);  // after a successful load, this function owns the buffer
    self.impl_->imaged_bytes_ = self.state_machine_.statistics().bytes;
    self.impl_->growth_ = self.impl_->growth_before_image_ = {};
    self.impl_->saved_index_ = self.impl_->raft_.log.snapshot.last_index;
    if (self.on_change_) self.on_change_();
    return 0;
}

void raft_node::impl::refuse(std::vector<reply_to_commit>& commits, int status) {
    const reply r{engine_status::unreachable, 0, reason_of(status), status == RAFT_NOTLEADER, {}};
    for (const reply_to_commit& answer : commits) {
        if (answer) answer(r);
    }
}

void raft_node::impl::send(log_entry_builder& e, std::vector<reply_to_commit>& answers,
                           std::vector<pending_get>* gets) {
    auto w = std::make_unique<pending_entry>();
    w->of = &of_;
    w->begun_ms = raft_.io->time(raft_.io);
    w->apply.data = w.get();
    w->commits = std::move(answers);
    if (gets != nullptr) w->gets = std::move(*gets);
    raft_buffer buffer = copy(e.finish());
    const int failed = raft_apply(&raft_, &w->apply, &buffer, 1, [](struct ::raft_apply* r, int status, void* result) {
        const std::unique_ptr<pending_entry> all{static_cast<pending_entry*>(r->data)};
        impl& b = *all->of->impl_;
        if (status == 0) b.renew_lease(*all);
        b.finish_commits(*all, status, static_cast<applied_entry*>(result));
        b.finish_gets(all->gets, status);
    });
    if (failed != 0) {
        raft_free(buffer.base);
        refuse(w->commits, failed);
        finish_gets(w->gets, failed);
        return;
    }
    if (injected(fault::early_answer)) {
        for (reply_to_commit& answer : w->commits) {
            if (answer) answer({engine_status::good, of_.state_machine_.latest() + 1, {}, false, {}});
            answer = nullptr;
        }
    }
    (void)w.release();  // raft's callback owns it now
}

void raft_node::impl::send_barrier() {
    auto w = std::make_unique<pending_entry>();
    w->of = &of_;
    w->begun_ms = raft_.io->time(raft_.io);
    w->barrier.data = w.get();
    w->gets = std::move(gets_);
    gets_.clear();
    const int failed = raft_barrier(&raft_, &w->barrier, [](struct ::raft_barrier* r, int status) {
        const std::unique_ptr<pending_entry> all{static_cast<pending_entry*>(r->data)};
        impl& b = *all->of->impl_;
        if (status == 0) b.renew_lease(*all);
        b.finish_gets(all->gets, status);
    });
    if (failed != 0) {
        finish_gets(w->gets, failed);
        return;
    }
    (void)w.release();  // raft's callback owns it now
}

void raft_node::impl::renew_lease(const pending_entry& w) {
    if (!injected(fault::read_by_lease)) return;
    lease_term_ = raft_.current_term;
    lease_until_ms_ = w.begun_ms + how_.election_ms;
}

bool raft_node::impl::has_lease() const {
    return injected(fault::read_by_lease) && lease_term_ == raft_.current_term &&
           raft_.io->time(raft_.io) < lease_until_ms_;
}

void raft_node::impl::finish_commits(pending_entry& w, int status, const applied_entry* applied) {
    for (std::size_t i = 0; i < w.commits.size(); ++i) {
        if (!w.commits[i]) continue;
        if (status != 0) {
            w.commits[i]({injected(fault::lost_is_conflict) ? engine_status::conflict : engine_status::unknown,
                          0,
                          reason_of(status),
                          false,
                          {}});
            continue;
        }
        const operation_result& o = applied->results[i];
        w.commits[i]({o.status, o.at, o.why, false, o.blocked_by});
    }
}

void raft_node::impl::finish_gets(std::vector<pending_get>& gets, int status) {
    for (pending_get& g : gets) {
        if (status != 0) {
            const bool elsewhere = status == RAFT_NOTLEADER || status == RAFT_LEADERSHIPLOST;
            g.answer({engine_status::unreachable, 0, reason_of(status), elsewhere, {}}, g.of, {});
            continue;
        }
        std::vector<backend::record> found;
        const engine_status result = of_.state_machine_.get(g.of, g.how, g.held, g.wanted, found);
        g.answer({result, g.of.at, {}, false, {}}, g.of, std::move(found));
    }
}

raft_node::raft_node(raft_io& io, raft_settings how)
    : state_machine_{how.history, how.max_erased}, impl_{std::make_unique<impl>(*this, io, std::move(how))} {}

raft_node::~raft_node() = default;

void raft_node::bootstrap(std::span<const member> all) {
    raft_configuration first;
    raft_configuration_init(&first);
    int failed = 0;
    for (const member& m : all) {
        if (failed == 0) failed = raft_configuration_add(&first, m.id, m.address.c_str(), RAFT_VOTER);
    }
    if (failed == 0) failed = raft_bootstrap(&impl_->raft_, &first);
    raft_configuration_close(&first);
    if (failed != 0) throw backend::engine_error{"cannot begin a group here: " + impl_->reason_of(failed)};
}

void raft_node::recover_alone(const member& self) {
    raft_configuration alone;
    raft_configuration_init(&alone);
    int failed = raft_configuration_add(&alone, self.id, self.address.c_str(), RAFT_VOTER);
    if (failed == 0) failed = raft_recover(&impl_->raft_, &alone);
    raft_configuration_close(&alone);
    if (failed != 0) throw backend::engine_error{"cannot begin a new group here: " + impl_->reason_of(failed)};
}

void raft_node::start() {
    if (const int failed = raft_start(&impl_->raft_); failed != 0) {
        throw backend::engine_error{"this member cannot start: " +
                                    (unreadable_reason_.empty() ? impl_->reason_of(failed) : unreadable_reason_)};
    }
}

void raft_node::on_recovered(std::function<void()> callback) { impl_->shim_->on_recovered(std::move(callback)); }

void raft_node::close(std::function<void()> done) {
    impl_->closed_ = std::move(done);
    flush();
    raft_close(&impl_->raft_, [](raft* r) {
        // The callback may delete the node.
        const auto on_closed = std::move(static_cast<raft_node*>(r->fsm->data)->impl_->closed_);
        on_closed();
    });
}

void raft_node::commit(std::vector<backend::check> checks, std::vector<backend::write> writes, reply_to_commit answer) {
    impl_->commits_.push_back(
        {operation_kind::commit, {}, false, std::move(checks), std::move(writes), std::move(answer)});
}

void raft_node::prepare(backend::blocking_transaction who, std::vector<backend::check> checks,
                        std::vector<backend::write> writes, reply_to_commit answer) {
    impl_->commits_.push_back(
        {operation_kind::prepare, std::move(who), false, std::move(checks), std::move(writes), std::move(answer)});
}

void raft_node::finish(std::string id, bool commits, reply_to_commit answer) {
    impl_->commits_.push_back({operation_kind::finish, {std::move(id)}, commits, {}, {}, std::move(answer)});
}

void raft_node::import_records(std::vector<backend::check> checks, std::vector<backend::change> records,
                               version absence, reply_to_commit answer) {
    impl_->commits_.push_back({operation_kind::import_records,
                               {},
                               false,
                               std::move(checks),
                               {},
                               std::move(answer),
                               std::move(records),
                               absence});
}

void raft_node::impl::pending_commit::add_to(log_entry_builder& e) const {
    switch (is) {
        case operation_kind::prepare: return e.add_prepare(who, checks, writes);
        case operation_kind::finish: return e.add_finish(who.id, commits);
        case operation_kind::import_records: return e.add_import(checks, imported, absence);
        default: return e.add_commit(checks, writes);
    }
}

void raft_node::forget(std::vector<key> keys) { impl_->forgets_.push_back(std::move(keys)); }

void raft_node::get(backend::read_snapshot of, backend::freshness how, std::vector<backend::check> held,
                    std::vector<key> wanted, reply_to_get answer) {
    impl_->gets_.push_back({of, how, std::move(held), std::move(wanted), std::move(answer)});
}

void raft_node::flush() {
    impl& b = *impl_;
    if ((injected(fault::no_barrier) || b.has_lease()) && is_leader()) {
        b.finish_gets(b.gets_, 0);
        b.gets_.clear();
    }
    // The lists are moved first, because an answer may add new requests, which belong to the next flush.
    const auto commits = std::move(b.commits_);
    const auto forgets = std::move(b.forgets_);
    b.commits_.clear();
    b.forgets_.clear();
    log_entry_builder e;
    std::vector<reply_to_commit> answers;
    for (const impl::pending_commit& c : commits) {
        if (e.operations() != 0 && e.bytes() >= b.how_.max_entry_bytes) b.send(e, answers, nullptr);
        c.add_to(e);
        answers.push_back(c.answer);
    }
    for (const std::vector<key>& keys : forgets) {
        e.add_forget(keys);
        answers.emplace_back();
    }
    if (e.operations() != 0) {
        // The last entry also serves as the barrier for the reads.
        b.send(e, answers, &b.gets_);
        b.gets_.clear();
    } else if (!b.gets_.empty()) {
        b.send_barrier();
    }
}

bool raft_node::is_leader() const noexcept { return raft_state(&impl_->raft_) == RAFT_LEADER; }

std::string raft_node::failure() const {
    if (!unreadable_reason_.empty()) return unreadable_reason_;
    if (const int failed = impl_->shim_->failed(); failed != 0)
        return std::string{"the disk refuses a write: "} + raft_strerror(failed);
    if (raft_state(&impl_->raft_) != RAFT_UNAVAILABLE) return {};
    const std::string why = raft_errmsg(&impl_->raft_);
    return why.empty() ? "C-Raft has stopped" : why;
}

member raft_node::leader() const {
    raft_id id = 0;
    const char* address = nullptr;
    raft_leader(&impl_->raft_, &id, &address);
    return id == 0 ? member{} : member{id, address == nullptr ? std::string{} : address};
}

}  // namespace tutti::cluster::replica
