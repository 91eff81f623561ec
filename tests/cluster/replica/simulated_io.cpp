#include "cluster/replica/simulated_io.hpp"

#include <memory>
#include <utility>

namespace tutti::cluster::replica::testing {

simulated_io::simulated_io(event_queue& events, const skewed_clock& clock, network& net, disk& of_member, raft_id id,
                           instant disk_delay)
    : events_{events}, clock_{clock}, network_{net}, disk_{of_member}, id_{id}, disk_delay_{disk_delay} {
    io_.version = 1;
    io_.impl = this;
    io_.init = [](raft_io* io, raft_id, const char* address) {
        of(io).address_ = address;
        return 0;
    };
    io_.close = [](raft_io* io, raft_io_close_cb cb) {
        of(io).closed_ = cb;
        of(io).kill();
        of(io).events_.after(0, [lives = of(io).lives_, io] {
            if (*lives) of(io).end();
        });
    };
    io_.start = [](raft_io* io, unsigned every, raft_io_tick_cb ticks, raft_io_recv_cb receives) {
        of(io).tick_ms_ = every;
        of(io).ticks_ = ticks;
        of(io).receives_ = receives;
        of(io).plan(of(io).events_.below(every * ms), [io] { of(io).tick(); });
        return 0;
    };
    io_.set_term = [](raft_io* io, raft_term term) {
        of(io).disk_.term = term;
        of(io).disk_.voted_for = 0;
        return 0;
    };
    io_.set_vote = [](raft_io* io, raft_id whom) {
        of(io).disk_.voted_for = whom;
        return 0;
    };
    io_.truncate = [](raft_io* io, raft_index from) {
        of(io).begin({[from](disk& d) { d.truncate(from); }, nullptr, nullptr});
        return 0;
    };
    io_.time = [](raft_io* io) { return static_cast<raft_time>(of(io).clock_.now() / ms); };
    io_.random = [](raft_io* io, int least, int most) {
        return static_cast<int>(
            of(io).events_.between(static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)));
    };
    io_.recover = [](raft_io*, const raft_configuration*) { return RAFT_INVALID; };
    io_.load = load;
    io_.bootstrap = bootstrap;
    io_.send = send;
    io_.append = append;
    io_.snapshot_put = snapshot_put;
    io_.snapshot_get = snapshot_get;
}

simulated_io::~simulated_io() { *lives_ = false; }

void simulated_io::slow_image::put(std::string piece, bool last, stored done) {
    ++pieces;
    held_ = [this, mine = turn_, piece = std::move(piece), last, done = std::move(done)] {
        if (mine != turn_) return;
        const bool fails = of_.events_.chance(of_.failing_pieces_of_100_);
        if (fails) done(RAFT_IOERR);
        else whole_.put(piece, last, done);
    };
    if (!of_.holds_images_) of_.let_images_go();
}

void simulated_io::slow_image::drop() noexcept {
    ++turn_;
    whole_.drop();
}

void simulated_io::let_images_go() {
    holds_images_ = false;
    if (images_.held_) plan(events_.below(disk_delay_ + 1), std::exchange(images_.held_, nullptr));
}

void simulated_io::plan(instant delay, std::function<void()> what) {
    events_.after(delay, [this, lives = lives_, what = std::move(what)]() mutable {
        if (!*lives || killed_) return;
        if (stopped_until_ > events_.now()) {
            plan(stopped_until_ - events_.now() + events_.below(3 * ms), std::move(what));
        } else {
            what();
        }
    });
}

void simulated_io::tick() {
    plan(clock_.time_to(tick_ms_ * ms), [this] { tick(); });
    if (!clock_.is_stopped()) ticks_(&io_);
}

void simulated_io::begin(operation o) {
    operations_.push_back(std::move(o));
    if (!works_) work();
}

void simulated_io::work() {
    works_ = true;
    plan(events_.below(disk_delay_ + 1), [this] {
        operation o = std::move(operations_.front());
        operations_.pop_front();
        works_ = false;
        if (failed_ || (fails_ && o.part)) {
            if (!failed_) o.part(disk_, events_);
            failed_ = true;
            if (o.done) o.done(RAFT_IOERR);
            for (const operation& other : std::exchange(operations_, {})) {
                if (other.done) other.done(RAFT_IOERR);
            }
            return;
        }
        o.effect(disk_);
        if (!operations_.empty()) work();
        if (o.done) o.done(0);
    });
}

void simulated_io::kill() {
    if (killed_) return;
    killed_ = true;
    // The pending disk operations may have happened: some first ones completely, and a part of the next.
    if (failed_) return;
    const std::uint64_t whole = events_.below(operations_.size() + 1);
    for (std::uint64_t i = 0; i < operations_.size(); ++i) {
        if (i < whole) operations_[i].effect(disk_);
        else if (i == whole && operations_[i].part) operations_[i].part(disk_, events_);
    }
}

void simulated_io::end() {
    for (operation& o : operations_) {
        if (o.done) o.done(RAFT_CANCELED);
    }
    operations_.clear();
    for (const auto& done : waiting_) done(RAFT_CANCELED);
    waiting_.clear();
    closed_(&io_);
}

void simulated_io::receive(const parcel& what) {
    raft_message m = what.message;
    m.server_address = what.from_address.c_str();
    if (m.type == RAFT_IO_APPEND_ENTRIES) {
        m.append_entries.entries = give(what.entries);
        m.append_entries.n_entries = static_cast<unsigned>(what.entries.size());
    } else if (m.type == RAFT_IO_INSTALL_SNAPSHOT) {
        give(what.configuration, m.install_snapshot.conf);
        m.install_snapshot.data = give(what.bytes);
    }
    receives_(&io_, &m);
}

int simulated_io::load(raft_io* io, raft_term* term, raft_id* voted_for, raft_snapshot** snapshot, raft_index* start,
                       raft_entry** entries, size_t* n) {
    const disk& d = of(io).disk_;
    *term = d.term;
    *voted_for = d.voted_for;
    *snapshot = d.snapshot ? give(*d.snapshot) : nullptr;
    *start = d.start;
    *entries = give(d.entries);
    *n = d.entries.size();
    return 0;
}

int simulated_io::bootstrap(raft_io* io, const raft_configuration* first) {
    disk& d = of(io).disk_;
    if (d.term != 0) return RAFT_CANTBOOTSTRAP;
    raft_buffer encoded;
    if (const int failed = raft_configuration_encode(first, &encoded); failed != 0) return failed;
    d.term = 1;
    d.entries.push_back({1, RAFT_CHANGE, {static_cast<const char*>(encoded.base), encoded.len}});
    raft_free(encoded.base);
    return 0;
}

int simulated_io::send(raft_io* io, raft_io_send* request, const raft_message* message, raft_io_send_cb done) {
    simulated_io& self = of(io);
    parcel p{*message, self.address_, {}, {}, {}};
    p.message.server_id = self.id_;
    if (message->type == RAFT_IO_APPEND_ENTRIES) {
        p.entries = copy_of(message->append_entries.entries, message->append_entries.n_entries);
    } else if (message->type == RAFT_IO_INSTALL_SNAPSHOT) {
        p.configuration = copy_of(message->install_snapshot.conf);
        const raft_buffer& data = message->install_snapshot.data;
        p.bytes = {static_cast<const char*>(data.base), data.len};
    }
    const bool sent = self.network_.send(self.id_, message->server_id, std::move(p));
    self.waiting_.push_back([request, done, sent](int status) {
        if (done != nullptr) done(request, status == 0 && !sent ? RAFT_NOCONNECTION : status);
    });
    self.plan(self.events_.below(self.write_delay_ + 1), [&self] {
        const auto first = std::move(self.waiting_.front());
        self.waiting_.pop_front();
        first(0);
    });
    return 0;
}

int simulated_io::append(raft_io* io, raft_io_append* request, const raft_entry* entries, unsigned n,
                         raft_io_append_cb done) {
    const auto all = std::make_shared<std::vector<stored_entry>>(copy_of(entries, n));
    const auto add = [all](disk& d, std::size_t how_many) {
        d.entries.insert(d.entries.end(), all->begin(), all->begin() + static_cast<std::ptrdiff_t>(how_many));
    };
    of(io).begin({[add, all](disk& d) { add(d, all->size()); },
                  [add, all](disk& d, event_queue& a) { add(d, a.below(all->size() + 1)); },
                  [request, done](int status) { done(request, status); }});
    return 0;
}

int simulated_io::snapshot_put(raft_io* io, unsigned trailing, raft_io_snapshot_put* request,
                               const raft_snapshot* snapshot, raft_io_snapshot_put_cb done) {
    of(io).begin({[s = copy_of(*snapshot), trailing](disk& d) { d.put(s, trailing); }, nullptr,
                  [request, done](int status) { done(request, status); }});
    return 0;
}

int simulated_io::snapshot_get(raft_io* io, raft_io_snapshot_get* request, raft_io_snapshot_get_cb done) {
    simulated_io& self = of(io);
    self.begin({[](disk&) {}, nullptr,
                [&self, request, done](int status) {
                    done(request, status == 0 ? give(*self.disk_.snapshot) : nullptr, status);
                }});
    return 0;
}

}  // namespace tutti::cluster::replica::testing
