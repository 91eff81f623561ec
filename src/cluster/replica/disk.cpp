#include "cluster/replica/disk.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/segment.hpp"
#include "cluster/replica/transport.hpp"

namespace tutti::cluster::replica {

struct disk::appending {
    raft_io_append mine{};
    raft_io_append* asked = nullptr;
    raft_io_append_cb callback = nullptr;
    disk* of = nullptr;
    raft_index first = 0;
    std::vector<std::uint64_t> digests{};
    unsigned voters = 0;
};

struct disk::saving {
    raft_io_snapshot_put mine{};
    raft_io_snapshot_put* asked = nullptr;
    raft_io_snapshot_put_cb callback = nullptr;
    disk* of = nullptr;
    raft_index replaces = 0;  // the index up to which another member's snapshot replaces the log; 0: the log stays
};

namespace {

constexpr std::uint64_t between_syncs_ms = 1000;

std::vector<std::uint64_t> digests_of(raft_index first, const raft_entry* entries, std::size_t n) {
    std::vector<std::uint64_t> all;
    all.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        const raft_entry& e = entries[i];
        all.push_back(entry_digest(first + i, e.term, e.type, {static_cast<const char*>(e.buf.base), e.buf.len}));
    }
    return all;
}

/// Returns the number of voters in the last configuration among the entries, or 0 if there is no configuration.
unsigned voters_in(const raft_entry* entries, std::size_t n) {
    for (std::size_t i = n; i > 0; --i) {
        const raft_entry& e = entries[i - 1];
        if (e.type == RAFT_CHANGE) return voters_of({static_cast<const char*>(e.buf.base), e.buf.len});
    }
    return 0;
}

unsigned voters_in(const raft_configuration& c) {
    return static_cast<unsigned>(
        std::count_if(c.servers, c.servers + c.n, [](const raft_server& s) { return s.role == RAFT_VOTER; }));
}

}  // namespace

disk::disk(uv_loop_t& loop, std::string folder, const std::string& promised, raft_uv_transport* through,
           std::function<void(std::string)> failed)
    : folder_{std::move(folder)}, failed_{std::move(failed)}, delay_{loop}, loop_{loop}, durable_record_{promised} {
    if (const int bad = raft_uv_init(&io_, &loop, folder_.c_str(), through); bad != 0)
        throw backend::engine_error{"the folder " + folder_ + " cannot be used: " + raft_strerror(bad)};
    raft_uv_set_connect_retry_delay(&io_, 100);
    // Auto-recovery is off, because C-Raft would put aside what it cannot read, and continue with less than this member
    // has acknowledged.
    raft_uv_set_auto_recovery(&io_, false);
    // Snapshots are not compressed, so a start can check the state machine's own checksum before C-Raft reads them.
    raft_uv_set_snapshot_compression(&io_, false);
    io_.of = this;
    original_io_ = io_;
    io_.append = [](raft_io* io, raft_io_append* asked, const raft_entry entries[], unsigned n,
                    raft_io_append_cb callback) {
        disk& d = of(io);
        auto w = std::make_unique<appending>(
            appending{{}, asked, callback, &d, d.next_, digests_of(d.next_, entries, n), voters_in(entries, n)});
        w->mine.data = w.get();
        d.pending_appends_.reserve(d.pending_appends_.size() + 1);
        const int bad = of(io).original_io_.append(io, &w->mine, entries, n, [](raft_io_append* mine, int status) {
            auto* const written = static_cast<appending*>(mine->data);
            written->of->delay_.complete([written, status] {
                const std::unique_ptr<appending> all{written};
                std::erase(all->of->pending_appends_, written);
                if (status == 0) all->of->record_append(*all);
                all->callback(all->asked, all->of->check("the log", status));
            });
        });
        if (bad == 0) {
            d.next_ += n;
            d.pending_appends_.push_back(w.release());
        }
        return d.check("the log", bad);
    };
    io_.snapshot_put = [](raft_io* io, unsigned trailing, raft_io_snapshot_put* asked, const raft_snapshot* what,
                          raft_io_snapshot_put_cb callback) {
        const raft_index replaces = trailing == 0 ? what->index : 0;
        auto w = std::make_unique<saving>(saving{{}, asked, callback, &of(io), replaces});
        w->mine.data = w.get();
        if (replaces != 0 && !of(io).record_truncation(replaces + 1)) return of(io).check("the log's end", RAFT_IOERR);
        const int bad =
            of(io).original_io_.snapshot_put(io, trailing, &w->mine, what, [](raft_io_snapshot_put* mine, int status) {
                const std::unique_ptr<saving> all{static_cast<saving*>(mine->data)};
                if (status == 0 && all->replaces != 0) all->of->durable_record_.advance_to(all->replaces);
                all->callback(all->asked, all->of->check("a snapshot", status));
            });
        if (bad == 0) {
            if (replaces != 0) of(io).next_ = replaces + 1;
            static_cast<void>(w.release());
        }
        return bad == RAFT_BUSY ? bad : of(io).check("a snapshot", bad);
    };
    // A snapshot uses a connection of its own. On the shared connection, leader and follower would receive nothing from
    // each other while the snapshot is sent.
    io_.send = [](raft_io* io, raft_io_send* asked, const raft_message* what, raft_io_send_cb callback) {
        if (what->type != RAFT_IO_INSTALL_SNAPSHOT) return of(io).original_io_.send(io, asked, what, callback);
        raft_message apart = *what;
        apart.server_id |= transport::second_connection;
        return of(io).original_io_.send(io, asked, &apart, callback);
    };
    io_.set_term = [](raft_io* io, raft_term term) {
        return of(io).change("the term", term, 0, [&] { return of(io).original_io_.set_term(io, term); });
    };
    io_.set_vote = [](raft_io* io, raft_id vote) {
        return of(io).change("a vote", of(io).durable_record_.promises().term, vote,
                             [&] { return of(io).original_io_.set_vote(io, vote); });
    };
    io_.bootstrap = [](raft_io* io, const raft_configuration* first) {
        return of(io).change("the term", 1, 0, [&] { return of(io).original_io_.bootstrap(io, first); });
    };
    io_.load = [](raft_io* io, raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first,
                  raft_entry** entries,
                  std::size_t* n) { return of(io).load(term, vote, snapshot, first, entries, n); };
    io_.close = [](raft_io* io, raft_io_close_cb callback) {
        of(io).delay_.close();
        of(io).original_io_.close(io, callback);
    };
    io_.truncate = [](raft_io* io, raft_index from) {
        disk& d = of(io);
        if (!d.record_truncation(from)) return d.check("the log's end", RAFT_IOERR);
        d.next_ = from;
        return d.check("the log", d.original_io_.truncate(io, from));
    };
}

template <class F>
int disk::change(const char* what, raft_term term, raft_id vote, const F& write) {
    if (!durable_record_.begin_change(term, vote)) return check(what, RAFT_IOERR);
    const int failed = write();
    if (failed == 0) durable_record_.end_change();
    return check(what, failed);
}

int disk::load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first, raft_entry** entries,
               std::size_t* n) {
    const int failed = original_io_.load(&io_, term, vote, snapshot, first, entries, n);
    if (failed != 0) return failed;
    next_ = *first + *n;
    const raft_index saved = *snapshot == nullptr ? 0 : (*snapshot)->index;
    unsigned voters = voters_in(*entries, *n);
    if (voters == 0 && *snapshot != nullptr) voters = voters_in((*snapshot)->configuration);
    durable_record_.reset(*term, *vote, *first, digests_of(*first, *entries, *n), std::max(next_ - 1, saved), voters);
    return 0;
}

void disk::record_append(const appending& w) {
    durable_record_.append(w.first, w.digests, w.voters);
    sync_if_due();
}

bool disk::record_truncation(raft_index index) {
    // A pending write of removed entries may end after this function, and must not be recorded then.
    for (appending* const w : pending_appends_) {
        const raft_index stays = index > w->first ? index - w->first : 0;
        if (stays < w->digests.size()) w->digests.resize(stays);
    }
    return durable_record_.truncate_to(index - 1);
}

/// Syncs on a thread of libuv's pool, because the loop does not wait for disks. The file stays open meanwhile: the loop
/// runs until the pool has answered, and member_process closes the loop before this disk.
void disk::sync_if_due() {
    const std::uint64_t now = ::uv_now(&loop_);
    if (now - synced_ms_ < between_syncs_ms) return;
    auto w = std::make_unique<uv_work_t>();
    w->data = &durable_record_;
    const int failed = ::uv_queue_work(
        &loop_, w.get(), [](uv_work_t* r) { ::fdatasync(static_cast<const durable_record*>(r->data)->descriptor()); },
        [](uv_work_t* r, int) { const std::unique_ptr<uv_work_t> over{r}; });
    if (failed != 0) return;
    synced_ms_ = now;
    static_cast<void>(w.release());
}

int disk::check(const char* what, int status) {
    if (status == 0 || status == RAFT_CANCELED || status == RAFT_SHUTDOWN || !failed_) return status;
    struct statvfs space{};
    const bool known = ::statvfs(folder_.c_str(), &space) == 0;
    const auto callback = std::exchange(failed_, nullptr);
    callback(std::string{what} + " cannot be written to " + folder_ + ": " + io_.errmsg + " (" + raft_strerror(status) +
             "); " + (known ? std::to_string((space.f_bavail * space.f_frsize) >> 20) + " MiB are free there. " : "") +
             "This member ends, and the others continue if they are a majority: make room, and start it again");
    return status;
}

}  // namespace tutti::cluster::replica
