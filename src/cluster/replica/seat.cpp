#include "cluster/replica/seat.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/seat_body.hpp"

namespace tutti::cluster::replica {

using backend::verdict;

namespace {

raft_buffer copy(std::string_view bytes) {
    raft_buffer b{.base = raft_malloc(bytes.size()), .len = bytes.size()};
    if (b.base == nullptr) throw std::bad_alloc{};
    std::memcpy(b.base, bytes.data(), bytes.size());
    return b;
}

/// The approximate memory that C-Raft uses for each entry, beside its bytes.
constexpr std::size_t entry_bytes = 128;
/// A member that takes a snapshot more slowly than this gets it again.
constexpr std::size_t slowest_install_bytes_per_ms = 10'000;

std::string_view view(const raft_buffer& b) { return {static_cast<const char*>(b.base), b.len}; }

}  // namespace

seat::body::body(seat& of, raft_io& io, seat_settings how)
    : of_{of},
      how_{std::move(how)},
      imaging_{of.machine_, how_.images == nullptr ? in_memory_ : *how_.images, {how_.piece_shards, how_.piece_bytes}} {
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
        throw backend::refusal{"this member cannot start: " + why(failed)};
    shim_ = std::make_unique<shim>(raft_, io, how_.message_bytes, how_.owed);
    shim_->write_images_by([this] { imaging_.write([this](int status) { shim_->end_image(status); }); });
    raft_set_election_timeout(&raft_, how_.election_ms);
    raft_set_heartbeat_timeout(&raft_, how_.heartbeat_ms);
    raft_set_snapshot_threshold(&raft_, how_.snapshot_threshold);
    raft_set_install_snapshot_timeout(&raft_, how_.install_ms);
    raft_set_snapshot_trailing(&raft_, how_.snapshot_trailing);
    // A member that was disconnected does not depose the leader when it returns.
    raft_set_pre_vote(&raft_, true);
}

std::string seat::body::why(int status) {
    const std::string detail = raft_errmsg(&raft_);
    return detail.empty() ? raft_strerror(status) : detail;
}

int seat::body::apply(raft_fsm* fsm, const raft_buffer* bytes, void** result) {
    seat& self = *static_cast<seat*>(fsm->data);
    body& b = *self.body_;
    try {
        b.last_ = self.machine_.apply(view(*bytes));
        if (injected(fault::applied_twice)) b.last_ = self.machine_.apply(view(*bytes));
    } catch (const std::bad_alloc&) {
        self.unreadable_ = "there is no memory for what an entry of the log writes";  // a part of it may be written
        return RAFT_NOMEM;
    }
    *result = &b.last_;
    if (!b.last_.readable) {
        // Continuing would make this member differ from members that could read the entry.
        self.unreadable_ = b.last_.why;
        return RAFT_MALFORMED;
    }
    b.weigh(bytes->len);
    if (self.told_) self.told_();
    return 0;
}

void seat::body::weigh(std::size_t bytes) {
    if (raft_.log.snapshot.last_index != saved_index_) {
        saved_index_ = raft_.log.snapshot.last_index;
        grown_.entries -= std::min(grown_.entries, grown_before_image_.entries);
        grown_.bytes -= std::min(grown_.bytes, grown_before_image_.bytes);
        grown_before_image_ = {};
        raft_set_snapshot_threshold(&raft_, how_.snapshot_threshold);
    }
    ++grown_.entries;
    grown_.bytes += bytes + entry_bytes;
    if (grown_.bytes < std::max(how_.snapshot_bytes, imaged_bytes_)) return;
    const std::size_t each = grown_.bytes / grown_.entries;
    const std::size_t most = std::max<std::size_t>(how_.snapshot_bytes / each / 4, 1);
    raft_set_snapshot_trailing(&raft_, static_cast<unsigned>(std::min<std::size_t>(most, how_.snapshot_trailing)));
    raft_set_snapshot_threshold(&raft_, 1);
}

/// I1: C-Raft is about to save the state of this moment.
int seat::body::snapshot(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    const seat& self = *static_cast<seat*>(fsm->data);
    body& b = *self.body_;
    const std::uint64_t now = b.raft_.io->time(b.raft_.io);
    // C-Raft empties its log before it stores a snapshot of another member, and leaves it empty if that fails. The last
    // applied entry then has no term, and C-Raft would ask again while this snapshot is being made.
    if (b.raft_.snapshot.pending.term == 0) return RAFT_BUSY;
    if (b.shim_->is_one_uncommitted() || !b.imaging_.may_begin(now)) return RAFT_BUSY;  // try later
    try {
        b.imaging_.begin();
    } catch (const std::bad_alloc&) {
        return RAFT_BUSY;
    }
    b.imaging_.put_off(now + imaging::retry_ms);
    *bufs = nullptr;
    *n = 0;
    b.imaged_bytes_ = self.machine_.holds().bytes;
    b.grown_before_image_ = b.grown_;
    raft_set_install_snapshot_timeout(
        &b.raft_, b.how_.install_ms + static_cast<unsigned>(b.imaged_bytes_ / slowest_install_bytes_per_ms));
    return 0;
}

int seat::body::snapshot_async(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    body& b = *static_cast<seat*>(fsm->data)->body_;
    *bufs = static_cast<raft_buffer*>(raft_malloc(sizeof **bufs));
    if (*bufs == nullptr) return RAFT_NOMEM;
    **bufs = b.imaging_.whole();
    if ((*bufs)->base == nullptr) {
        raft_free(std::exchange(*bufs, nullptr));
        return RAFT_NOMEM;
    }
    *n = 1;
    return 0;
}

/// Called when C-Raft has finished with the image, successfully or not.
int seat::body::snapshot_finalize(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n) {
    body& b = *static_cast<seat*>(fsm->data)->body_;
    raft_free(*bufs);
    *bufs = nullptr;
    *n = 0;
    b.imaging_.abandon();
    return 0;
}

int seat::body::restore(raft_fsm* fsm, raft_buffer* saved) {
    seat& self = *static_cast<seat*>(fsm->data);
    try {
        self.machine_.load(view(*saved));
    } catch (const backend::refusal& r) {
        self.unreadable_ = r.what();
        return RAFT_MALFORMED;
    } catch (const std::bad_alloc&) {
        self.unreadable_ = "there is no memory for a snapshot of the group";
        return RAFT_NOMEM;
    }
    raft_free(saved->base);  // belongs to this member once it is loaded
    self.body_->imaged_bytes_ = self.machine_.holds().bytes;
    self.body_->grown_ = self.body_->grown_before_image_ = {};
    self.body_->saved_index_ = self.body_->raft_.log.snapshot.last_index;
    if (self.told_) self.told_();
    return 0;
}

void seat::body::refuse(std::vector<reply_to_commit>& commits, int status) {
    const reply r{verdict::unreachable, 0, why(status), status == RAFT_NOTLEADER, {}};
    for (const reply_to_commit& answer : commits) {
        if (answer) answer(r);
    }
}

void seat::body::send(entry& e, std::vector<reply_to_commit>& answers, std::vector<get_waiting>* gets) {
    auto w = std::make_unique<under_way>();
    w->of = &of_;
    w->begun_ms = raft_.io->time(raft_.io);
    w->apply.data = w.get();
    w->commits = std::move(answers);
    if (gets != nullptr) w->gets = std::move(*gets);
    raft_buffer buffer = copy(e.finish());
    const int failed = raft_apply(&raft_, &w->apply, &buffer, 1, [](struct ::raft_apply* r, int status, void* result) {
        const std::unique_ptr<under_way> all{static_cast<under_way*>(r->data)};
        body& b = *all->of->body_;
        if (status == 0) b.note_lease(*all);
        b.settle_commits(*all, status, static_cast<applied*>(result));
        b.settle_gets(all->gets, status);
    });
    if (failed != 0) {
        raft_free(buffer.base);
        refuse(w->commits, failed);
        settle_gets(w->gets, failed);
        return;
    }
    if (injected(fault::early_answer)) {
        for (reply_to_commit& answer : w->commits) {
            if (answer) answer({verdict::good, of_.machine_.latest() + 1, {}, false, {}});
            answer = nullptr;
        }
    }
    (void)w.release();  // raft calls back
}

void seat::body::send_barrier() {
    auto w = std::make_unique<under_way>();
    w->of = &of_;
    w->begun_ms = raft_.io->time(raft_.io);
    w->barrier.data = w.get();
    w->gets = std::move(gets_);
    gets_.clear();
    const int failed = raft_barrier(&raft_, &w->barrier, [](struct ::raft_barrier* r, int status) {
        const std::unique_ptr<under_way> all{static_cast<under_way*>(r->data)};
        body& b = *all->of->body_;
        if (status == 0) b.note_lease(*all);
        b.settle_gets(all->gets, status);
    });
    if (failed != 0) {
        settle_gets(w->gets, failed);
        return;
    }
    (void)w.release();  // raft calls back
}

void seat::body::note_lease(const under_way& w) {
    if (!injected(fault::read_by_lease)) return;
    lease_term_ = raft_.current_term;
    lease_until_ms_ = w.begun_ms + how_.election_ms;
}

bool seat::body::has_lease() const {
    return injected(fault::read_by_lease) && lease_term_ == raft_.current_term &&
           raft_.io->time(raft_.io) < lease_until_ms_;
}

void seat::body::settle_commits(under_way& w, int status, const applied* said) {
    for (std::size_t i = 0; i < w.commits.size(); ++i) {
        if (!w.commits[i]) continue;
        if (status != 0) {
            w.commits[i](
                {injected(fault::lost_is_conflict) ? verdict::conflict : verdict::unknown, 0, why(status), false, {}});
            continue;
        }
        const outcome& o = said->outcomes[i];
        w.commits[i]({o.said, o.at, o.why, false, o.met});
    }
}

void seat::body::settle_gets(std::vector<get_waiting>& gets, int status) {
    for (get_waiting& g : gets) {
        if (status != 0) {
            const bool elsewhere = status == RAFT_NOTLEADER || status == RAFT_LEADERSHIPLOST;
            g.answer({verdict::unreachable, 0, why(status), elsewhere, {}}, g.of, {});
            continue;
        }
        std::vector<backend::record> found;
        const verdict said = of_.machine_.get(g.of, g.how, g.held, g.wanted, found);
        g.answer({said, g.of.at, {}, false, {}}, g.of, std::move(found));
    }
}

seat::seat(raft_io& io, seat_settings how)
    : machine_{how.history, how.most_erased}, body_{std::make_unique<body>(*this, io, std::move(how))} {}

seat::~seat() = default;

void seat::bootstrap(std::span<const member> all) {
    raft_configuration first;
    raft_configuration_init(&first);
    int failed = 0;
    for (const member& m : all) {
        if (failed == 0) failed = raft_configuration_add(&first, m.id, m.address.c_str(), RAFT_VOTER);
    }
    if (failed == 0) failed = raft_bootstrap(&body_->raft_, &first);
    raft_configuration_close(&first);
    if (failed != 0) throw backend::refusal{"the group cannot begin here: " + body_->why(failed)};
}

void seat::recover_alone(const member& self) {
    raft_configuration alone;
    raft_configuration_init(&alone);
    int failed = raft_configuration_add(&alone, self.id, self.address.c_str(), RAFT_VOTER);
    if (failed == 0) failed = raft_recover(&body_->raft_, &alone);
    raft_configuration_close(&alone);
    if (failed != 0) throw backend::refusal{"the group cannot begin anew here: " + body_->why(failed)};
}

void seat::start() {
    if (const int failed = raft_start(&body_->raft_); failed != 0) {
        throw backend::refusal{"this member cannot start: " + (unreadable_.empty() ? body_->why(failed) : unreadable_)};
    }
}

void seat::on_regained(std::function<void()> told) { body_->shim_->on_regained(std::move(told)); }

void seat::close(std::function<void()> done) {
    body_->closed_ = std::move(done);
    flush();
    raft_close(&body_->raft_, [](raft* r) {
        // The callback may delete the seat.
        const auto told = std::move(static_cast<seat*>(r->fsm->data)->body_->closed_);
        told();
    });
}

void seat::commit(std::vector<backend::check> checks, std::vector<backend::write> writes, reply_to_commit answer) {
    body_->commits_.push_back({kind::commit, {}, false, std::move(checks), std::move(writes), std::move(answer)});
}

void seat::prepare(backend::holder who, std::vector<backend::check> checks, std::vector<backend::write> writes,
                   reply_to_commit answer) {
    body_->commits_.push_back(
        {kind::prepare, std::move(who), false, std::move(checks), std::move(writes), std::move(answer)});
}

void seat::finish(std::string id, bool commits, reply_to_commit answer) {
    body_->commits_.push_back({kind::finish, {std::move(id)}, commits, {}, {}, std::move(answer)});
}

void seat::adopt(std::vector<backend::check> checks, std::vector<backend::change> records, version absence,
                 reply_to_commit answer) {
    body_->commits_.push_back(
        {kind::adopt, {}, false, std::move(checks), {}, std::move(answer), std::move(records), absence});
}

void seat::body::commit_waiting::add_to(entry& e) const {
    switch (is) {
        case kind::prepare: return e.add_prepare(who, checks, writes);
        case kind::finish: return e.add_finish(who.id, commits);
        case kind::adopt: return e.add_adopt(checks, adopted, absence);
        default: return e.add_commit(checks, writes);
    }
}

void seat::forget(std::vector<key> keys) { body_->forgets_.push_back(std::move(keys)); }

void seat::get(backend::snapshot of, backend::freshness how, std::vector<backend::check> held, std::vector<key> wanted,
               reply_to_get answer) {
    body_->gets_.push_back({of, how, std::move(held), std::move(wanted), std::move(answer)});
}

void seat::flush() {
    body& b = *body_;
    if ((injected(fault::no_barrier) || b.has_lease()) && leads()) {
        b.settle_gets(b.gets_, 0);
        b.gets_.clear();
    }
    // Answers may make new requests, which are for the next flush.
    const auto commits = std::move(b.commits_);
    const auto forgets = std::move(b.forgets_);
    b.commits_.clear();
    b.forgets_.clear();
    entry e;
    std::vector<reply_to_commit> answers;
    for (const body::commit_waiting& c : commits) {
        if (e.operations() != 0 && e.bytes() >= b.how_.most_entry_bytes) b.send(e, answers, nullptr);
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

bool seat::leads() const noexcept { return raft_state(&body_->raft_) == RAFT_LEADER; }

std::string seat::broken_by() const {
    if (!unreadable_.empty()) return unreadable_;
    if (const int failed = body_->shim_->failed(); failed != 0)
        return std::string{"the disk does not take what is written: "} + raft_strerror(failed);
    if (raft_state(&body_->raft_) != RAFT_UNAVAILABLE) return {};
    const std::string why = raft_errmsg(&body_->raft_);
    return why.empty() ? "C-Raft has given up" : why;
}

member seat::leader() const {
    raft_id id = 0;
    const char* address = nullptr;
    raft_leader(&body_->raft_, &id, &address);
    return id == 0 ? member{} : member{id, address == nullptr ? std::string{} : address};
}

}  // namespace tutti::cluster::replica
