#include "cluster/replica/disk.hpp"

#include <sys/statvfs.h>

#include <memory>
#include <utility>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::replica {

struct disk::appending {
    raft_io_append mine{};
    raft_io_append* asked = nullptr;
    raft_io_append_cb told = nullptr;
    disk* of = nullptr;
};

struct disk::saving {
    raft_io_snapshot_put mine{};
    raft_io_snapshot_put* asked = nullptr;
    raft_io_snapshot_put_cb told = nullptr;
    disk* of = nullptr;
};

disk::disk(uv_loop_t& loop, std::string folder, raft_uv_transport* through, std::function<void(std::string)> failed)
    : folder_{std::move(folder)}, failed_{std::move(failed)}, delay_{loop} {
    if (const int bad = raft_uv_init(&io_, &loop, folder_.c_str(), through); bad != 0)
        throw backend::refusal{"the folder " + folder_ + " cannot be used: " + raft_strerror(bad)};
    raft_uv_set_connect_retry_delay(&io_, 100);
    // It would put aside what it cannot read, and go on with less than this member has promised.
    raft_uv_set_auto_recovery(&io_, false);
    io_.of = this;
    real_ = io_;
    io_.append = [](raft_io* io, raft_io_append* asked, const raft_entry entries[], unsigned n,
                    raft_io_append_cb told) {
        auto w = std::make_unique<appending>(appending{{}, asked, told, &of(io)});
        w->mine.data = w.get();
        const int bad = of(io).real_.append(io, &w->mine, entries, n, [](raft_io_append* mine, int status) {
            auto* const written = static_cast<appending*>(mine->data);
            written->of->delay_.pass([written, status] {
                const std::unique_ptr<appending> all{written};
                all->told(all->asked, all->of->look("the log", status));
            });
        });
        if (bad == 0) static_cast<void>(w.release());
        return of(io).look("the log", bad);
    };
    io_.snapshot_put = [](raft_io* io, unsigned trailing, raft_io_snapshot_put* asked, const raft_snapshot* what,
                          raft_io_snapshot_put_cb told) {
        auto w = std::make_unique<saving>(saving{{}, asked, told, &of(io)});
        w->mine.data = w.get();
        const int bad =
            of(io).real_.snapshot_put(io, trailing, &w->mine, what, [](raft_io_snapshot_put* mine, int status) {
                const std::unique_ptr<saving> all{static_cast<saving*>(mine->data)};
                all->told(all->asked, all->of->look("a snapshot", status));
            });
        if (bad == 0) static_cast<void>(w.release());
        return bad == RAFT_BUSY ? bad : of(io).look("a snapshot", bad);
    };
    io_.set_term = [](raft_io* io, raft_term term) { return of(io).look("the term", of(io).real_.set_term(io, term)); };
    io_.set_vote = [](raft_io* io, raft_id vote) { return of(io).look("a vote", of(io).real_.set_vote(io, vote)); };
    io_.close = [](raft_io* io, raft_io_close_cb told) {
        of(io).delay_.close();
        of(io).real_.close(io, told);
    };
    io_.truncate = [](raft_io* io, raft_index from) { return of(io).look("the log", of(io).real_.truncate(io, from)); };
}

int disk::look(const char* what, int status) {
    if (status == 0 || status == RAFT_CANCELED || status == RAFT_SHUTDOWN || !failed_) return status;
    struct statvfs space{};
    const bool known = ::statvfs(folder_.c_str(), &space) == 0;
    const auto told = std::exchange(failed_, nullptr);
    told(std::string{what} + " cannot be written to " + folder_ + ": " + io_.errmsg + " (" + raft_strerror(status) +
         "); " + (known ? std::to_string((space.f_bavail * space.f_frsize) >> 20) + " MiB are free there. " : "") +
         "This member ends, and the others go on if they are a majority: make room, and start it again");
    return status;
}

}  // namespace tutti::cluster::replica
