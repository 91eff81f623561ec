#include "cluster/replica/shim.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cluster/replica/fault_injection.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster::replica {
namespace {

std::string encoded(const raft_configuration& c) {
    raft_buffer b;
    if (raft_configuration_encode(&c, &b) != 0) return {};
    std::string bytes{static_cast<const char*>(b.base), b.len};
    raft_free(b.base);
    return bytes;
}

/// Decodes the bytes of raft_configuration_encode: format (1), count (8), each server's number (8), address up to a
/// zero, and role (1); then zeros, up to a whole word.
int decode(std::string_view bytes, raft_configuration& into) {
    raft_configuration_init(&into);
    wire::reader in{bytes};
    std::uint8_t format = 0;
    std::uint64_t servers = 0;
    in(format);
    in(servers);
    if (format != 1) return RAFT_MALFORMED;
    for (std::uint64_t i = 0; i < servers && in.good(); ++i) {
        raft_id id = 0;
        std::string address;
        std::uint8_t role = 0;
        in(id);
        for (char c = 0; in(c), c != 0;) address.push_back(c);
        in(role);
        if (!in.good()) return RAFT_MALFORMED;
        if (const int failed = raft_configuration_add(&into, id, address.c_str(), role); failed != 0) return failed;
    }
    return in.good() ? 0 : RAFT_MALFORMED;
}

}  // namespace

/// An append that the shim has passed to `io`, and whose completion the shim reports to C-Raft.
struct shim::pending_append {
    raft_io_append request{};
    shim* by = nullptr;
    raft_io_append* theirs = nullptr;
    raft_io_append_cb done = nullptr;
};

shim::~shim() = default;

shim::shim(raft& of_member, raft_io& io, std::size_t message_bytes, raft_index lost_upto)
    : raft_{of_member}, under_{io}, sender_{raft_, under_, message_bytes}, lost_upto_{lost_upto} {
    raft_.data = this;
    io.load = load;
    io.start = start;
    io.close = close;
    io.append = append;
    io.send = send;
    io.truncate = truncate;
    io.snapshot_put = snapshot_put;
    io.async_work = async_work;
}

void shim::allow_images(raft_io& io) noexcept {
    io.version = 2;
    io.async_work = async_work;
}

shim& shim::of(const raft_io* io) {
    return *static_cast<shim*>(static_cast<raft*>(io->data)->data);  // raft_init has set io->data
}

bool shim::has_uncommitted_configuration() const noexcept {
    return !all_.empty() && all_.rbegin()->first > raft_.last_applied;
}

void shim::record_configurations(const raft_entry* entries, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i, ++next_) {
        const raft_buffer& b = entries[i].buf;
        if (entries[i].type == RAFT_CHANGE) all_[next_] = {static_cast<const char*>(b.base), b.len};
    }
}

/// Restores the newest configuration of a log that was cut off before `from`.
void shim::restore_configuration(raft_index from) {
    next_ = from;
    const auto gone = all_.lower_bound(from);
    if (gone == all_.end()) return;
    all_.erase(gone, all_.end());
    if (injected(fault::configuration_stays)) return;
    if (all_.empty()) return;  // this member has never had another configuration
    raft_configuration before;
    if (decode(all_.rbegin()->second, before) != 0) {
        raft_configuration_close(&before);
        return;
    }
    raft_configuration_close(&raft_.configuration);
    raft_.configuration = before;
    raft_.configuration_index = all_.rbegin()->first;
    hide_uncommitted_configuration();
}

int shim::load(raft_io* io, raft_term* term, raft_id* voted_for, raft_snapshot** snapshot, raft_index* start,
               raft_entry** entries, std::size_t* n) {
    shim& self = of(io);
    const int failed = self.under_.load(io, term, voted_for, snapshot, start, entries, n);
    if (failed != 0) return failed;
    self.all_.clear();
    if (*snapshot != nullptr) self.all_[(*snapshot)->configuration_index] = encoded((*snapshot)->configuration);
    self.next_ = *start;
    self.record_configurations(*entries, *n);
    return 0;
}

int shim::start(raft_io* io, unsigned every, raft_io_tick_cb tick, raft_io_recv_cb receive) {
    shim& self = of(io);
    self.receive_ = receive;
    self.tick_ = tick;
    const auto ticks = [](raft_io* from) {
        shim& ticked = of(from);
        // RFT5: restarts the election timer, so that this member does not ask for votes.
        if (ticked.lost_upto_ != 0) ticked.raft_.election_timer_start = from->time(from);
        ticked.tick_(from);
        of(from).on_elected();
    };
    return self.under_.start(io, every, ticks, [](raft_io* from, raft_message* m) { of(from).receive(from, m); });
}

/// Begins the leader's term with an entry of that term.
void shim::on_elected() {
    if (raft_.state != RAFT_LEADER || raft_.current_term == last_led_term_ || injected(fault::counts_for_old_terms))
        return;
    first_own_ = raft_last_index(&raft_) + 1;
    auto own = std::make_unique<struct ::raft_barrier>();
    own->data = own.get();
    const int failed = raft_barrier(&raft_, own.get(), [](struct ::raft_barrier* r, int) {
        delete static_cast<struct ::raft_barrier*>(r->data);  // NOLINT(cppcoreguidelines-owning-memory): given below
    });
    if (failed != 0) return;  // tried again at the next tick; until then no acknowledgement counts
    last_led_term_ = raft_.current_term;
    (void)own.release();  // raft's callback owns it now
}

/// Removes from a message the entries that this member's snapshot contains. These entries are committed, so every later
/// leader has them, too.
void shim::remove_saved_entries(raft_append_entries& message) {
    const raft_index saved = raft_.log.snapshot.last_index;
    if (message.prev_log_index > raft_.log.offset || message.prev_log_index >= saved) return;
    const raft_index known = std::min<raft_index>(saved - message.prev_log_index, message.n_entries);
    if (known == message.n_entries) {
        if (known != 0) {
            raft_free(message.entries[0].batch);
            raft_free(message.entries);
        }
        message.entries = nullptr;
        message.n_entries = 0;
    } else {
        // All entries of a message share one batch. The batch is freed together with the last entry.
        std::copy(message.entries + known, message.entries + message.n_entries, message.entries);
        message.n_entries -= static_cast<unsigned>(known);
    }
    message.prev_log_index = saved;
    message.prev_log_term = raft_.log.snapshot.last_term;
}

void shim::receive(raft_io* io, raft_message* m) {
    // RFT5: ignores the message. Neither of these two kinds of message owns memory that must be freed.
    if (lost_upto_ != 0 && (m->type == RAFT_IO_REQUEST_VOTE || m->type == RAFT_IO_TIMEOUT_NOW)) return;
    if (m->type == RAFT_IO_APPEND_ENTRIES_RESULT) return receive_result(io, m);
    raft_term term = 0;
    if (m->type == RAFT_IO_APPEND_ENTRIES) {
        if (!injected(fault::saved_again)) remove_saved_entries(m->append_entries);
        term = m->append_entries.term;
        compared_ = m->append_entries.prev_log_index + m->append_entries.n_entries;
    } else if (m->type == RAFT_IO_INSTALL_SNAPSHOT) {
        term = m->install_snapshot.term;
        compared_ = m->install_snapshot.last_index;
    }
    if (term > verified_.term) verified_ = {term, 0};
    if (term < verified_.term) compared_ = 0;  // the message comes from a former leader
    receive_(io, m);
    compared_ = 0;
    on_elected();
    hide_uncommitted_configuration();
}

void shim::receive_result(raft_io* io, raft_message* m) {
    const raft_id from = m->server_id;
    raft_append_entries_result& result = m->append_entries_result;
    const raft_append_entries_result original = result;
    if (original.rejected != 0) sender_.forget(from);
    else if (raft_.state == RAFT_LEADER && !injected(fault::counts_for_old_terms) &&
             original.last_log_index < first_own_)
        result.last_log_index = std::min(original.last_log_index, raft_.commit_index);
    receive_(io, m);
    if (original.rejected == 0) sender_.acknowledge(from, original.term, original.last_log_index);
    on_elected();
    hide_uncommitted_configuration();
}

/// Records that the log contains the entries of the message, or will contain them soon.
void shim::accept() noexcept { verified_.index = std::max(verified_.index, std::exchange(compared_, 0)); }

int shim::send(raft_io* io, raft_io_send* request, const raft_message* message, raft_io_send_cb done) {
    shim& self = of(io);
    switch (message->type) {
        case RAFT_IO_APPEND_ENTRIES: return self.sender_.send(io, request, *message, done);
        case RAFT_IO_APPEND_ENTRIES_RESULT: return self.send_result(io, request, *message, done);
        case RAFT_IO_INSTALL_SNAPSHOT: self.sender_.forget(message->server_id); [[fallthrough]];
        default: return self.under_.send(io, request, message, done);
    }
}

int shim::send_result(raft_io* io, raft_io_send* request, const raft_message& message, raft_io_send_cb done) {
    if (message.append_entries_result.rejected != 0) return under_.send(io, request, &message, done);
    accept();
    raft_message honest = message;
    raft_append_entries_result& result = honest.append_entries_result;
    const raft_index known = result.term == verified_.term ? verified_.index : 0;
    if (!injected(fault::more_than_compared)) result.last_log_index = std::min(result.last_log_index, known);
    if (lost_upto_ != 0 && std::min(result.last_log_index, known) >= lost_upto_) {
        lost_upto_ = 0;
        if (on_recovered_) on_recovered_();
    }
    return under_.send(io, request, &honest, done);
}

int shim::append(raft_io* io, raft_io_append* request, const raft_entry* entries, unsigned n, raft_io_append_cb done) {
    shim& self = of(io);
    auto w = std::make_unique<pending_append>();
    *w = {.request = {}, .by = &self, .theirs = request, .done = done};
    w->request.data = w.get();
    const int failed = self.under_.append(io, &w->request, entries, n, [](raft_io_append* r, int status) {
        std::unique_ptr<pending_append> all{static_cast<pending_append*>(r->data)};
        shim& by = *all->by;
        if (by.raft_.state == RAFT_UNAVAILABLE) {
            all->done(all->theirs, 0);
            return;
        }
        if (status != 0) by.failed_ = status;
        // After a failed write, completions of later writes are not reported to C-Raft either.
        if (by.failed_ != 0) {
            by.unreported_.push_back(std::move(all));
            return;
        }
        all->done(all->theirs, 0);
        by.hide_uncommitted_configuration();  // a follower uses a configuration once it is stored
    });
    if (failed != 0) return failed;
    (void)w.release();  // C-Raft's callback owns it now
    self.accept();
    self.record_configurations(entries, n);
    return 0;
}

void shim::close(raft_io* io, raft_io_close_cb done) {
    shim& self = of(io);
    for (const auto& w : std::exchange(self.unreported_, {})) w->done(w->theirs, 0);
    self.end_image(RAFT_CANCELED);
    self.under_.close(io, done);
}

int shim::truncate(raft_io* io, raft_index from) {
    shim& self = of(io);
    const int failed = self.under_.truncate(io, from);
    if (failed == 0) self.restore_configuration(from);
    return failed;
}

/// Begins an image. C-Raft calls this function only for images, and at most once until it has the result.
int shim::async_work(raft_io* io, raft_io_async_work* request, raft_io_async_work_cb done) {
    request->cb = done;
    of(io).image_ = request;
    of(io).write_image_();
    return 0;
}

void shim::end_image(int status) {
    raft_io_async_work* const asked = std::exchange(image_, nullptr);
    if (asked == nullptr) return;
    if (status == 0) status = asked->work(asked);
    asked->cb(asked, status);
}

int shim::snapshot_put(raft_io* io, unsigned trailing, raft_io_snapshot_put* request, const raft_snapshot* snapshot,
                       raft_io_snapshot_put_cb done) {
    shim& self = of(io);
    const int failed = self.under_.snapshot_put(io, trailing, request, snapshot, done);
    if (failed != 0) return failed;
    if (trailing == 0) {
        // The snapshot comes from another member, and replaces the log.
        self.accept();
        self.all_.clear();
        self.next_ = snapshot->index + 1;
    } else {
        self.all_.erase(self.all_.begin(), self.all_.lower_bound(snapshot->configuration_index));
    }
    self.all_[snapshot->configuration_index] = encoded(snapshot->configuration);
    return 0;
}

}  // namespace tutti::cluster::replica
