#include "server/calls/recovery.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "api/companion.hpp"
#include "server/calls/invocation.hpp"
#include "server/journal/record.hpp"
#include "tutti/atomically.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

// ---- pieces: the name, its length before it, and what was put

std::string piece_of(const std::string& name, std::string_view bytes) {
    const auto length = static_cast<std::uint32_t>(name.size());
    std::string all(sizeof length, '\0');
    std::memcpy(all.data(), &length, sizeof length);
    all.append(name).append(bytes);
    return all;
}

std::pair<std::string_view, std::string_view> name_and_bytes(std::string_view piece) {
    std::uint32_t length = 0;
    if (piece.size() < sizeof length) throw std::runtime_error{"a piece of the snapshot is too short"};
    std::memcpy(&length, piece.data(), sizeof length);
    piece.remove_prefix(sizeof length);
    if (piece.size() < length) throw std::runtime_error{"a piece of the snapshot is too short"};
    return {piece.substr(0, length), piece.substr(length)};
}

/// The pieces of a dump. Those that a nested block of it has put go with that block when it is rolled back.
class dumped {
public:
    explicit dumped(std::vector<std::string>& to) : to_{to} {}
    void clear() {
        to_.clear();
        block_ = nullptr;
    }
    void put(std::string piece) {
        tx& t = *tutti::detail::current_transaction;
        const core::descriptor& d = core::descriptor::of(t);
        const tutti::detail::frame& in = *d.frame_;
        // Another block may stand where one stood that has ended, but then it opened after that one had registered.
        if (in.parent != nullptr && (&in != block_ || registered_ <= in.mark.deferred)) {
            t.on_abort([this, put_before = to_.size()] {
                to_.resize(put_before);
                block_ = nullptr;
            });
            block_ = &in;
            registered_ = d.deferred_log.size();
        }
        to_.push_back(std::move(piece));
    }

private:
    std::vector<std::string>& to_;
    const tutti::detail::frame* block_ = nullptr;  // the nested one that has registered last
    std::size_t registered_ = 0;                   // what its transaction had registered with that
};

class writer final : public snapshot_writer {
public:
    writer(const std::string& name, dumped& to) : name_{name}, to_{to} {}
    void put(std::string_view piece) override { to_.put(piece_of(name_, piece)); }

private:
    const std::string& name_;
    dumped& to_;
};

class reader final : public snapshot_reader {
public:
    explicit reader(const std::vector<std::string>& from) : from_{from} {}
    std::optional<std::string_view> next() override {
        if (at_ == from_.size()) return std::nullopt;
        return from_[at_++];
    }

private:
    const std::vector<std::string>& from_;
    std::size_t at_ = 0;
};

void load_all(journal::store& from, const catalog& procedures, recovered& sum) {
    std::string name;
    std::vector<std::string> pieces;  // of that name; they follow each other
    const auto hand_in = [&] {
        if (pieces.empty()) return;
        const auto found = std::ranges::find(procedures.kept(), name, &kept_data::name);
        if (found == procedures.kept().end())
            throw std::runtime_error{"the snapshot holds data '" + name + "', which nothing loads (at_snapshot)"};
        reader r{pieces};
        found->load(r);
        sum.pieces += pieces.size();
        pieces.clear();
    };
    from.read_snapshot([&](std::string_view piece) {
        const auto [whose, bytes] = name_and_bytes(piece);
        if (whose != name) hand_in();
        name = whose;
        pieces.emplace_back(bytes);
    });
    hand_in();
}

void run_record(const journal::record& r, const catalog& procedures) {
    const auto known = [&](std::string_view name) {
        const entry* const e = procedures.find(name);
        if (e == nullptr) throw std::runtime_error{"there is no procedure '" + std::string{name} + "' any more"};
        return e;
    };
    invocation what{.how = {}, .spoken = static_cast<protocol>(r.protocol)};
    what.which = r.together ? procedures.together() : known(r.parts.front().procedure);
    if (r.together) {
        for (const journal::part& p : r.parts) what.parts.push_back({known(p.procedure), p.arguments});
    }
    call how;
    how.priority = r.priority;
    how.began = r.time;
    how.seed = r.seed;
    how.replayed = true;
    std::string answer;
    run_again(what, how, r.arguments, answer);
    if (journal::checksum(answer, r.answer_by) == r.answer) return;
    throw std::runtime_error{"it answers otherwise than at first, now '" +
                             answer.substr(0, std::min<std::size_t>(answer.find('\r'), 100)) +
                             "': it depends on something that is not in the log, or the procedure has changed"};
}

/// Draws the position that a dump belongs to, as a call does (journal.hpp, J3), and cuts the log there.
class cut final : public participant {
public:
    explicit cut(journal::journal& in) : in_{in} {}
    void join(tx& t) {
        descriptor_ = &core::descriptor::of(t);
        t.join(*this);
    }
    vote prepare() override {
        if (!descriptor_->writes.empty()) throw std::runtime_error{"a dump writes"};
        const journal::place drawn = in_.draw(0);
        position = drawn.position;
        in_.cut(drawn);
        return api::reads_stand(*descriptor_) ? vote::commit : vote::restart;
    }
    void commit() noexcept override {}
    void abort() noexcept override {}

    std::uint64_t position = 0;

private:
    journal::journal& in_;
    core::descriptor* descriptor_ = nullptr;
};

/// `at_end` is called at the end of the dump's transaction.
template <class F>
journal::snapshot dump_all(const catalog& procedures, const std::uint64_t& position, const F& at_end) {
    journal::snapshot made;
    dumped pieces{made.parts};
    tutti::atomically({.name = "snapshot"}, [&](tutti::tx& t) {
        pieces.clear();
        for (const kept_data& k : procedures.kept()) {
            writer to{k.name, pieces};
            k.dump(to);
        }
        at_end(t);
    });
    made.position = position;
    return made;
}

}  // namespace

/// Interrupts the calling thread's transactions when one call of the log takes too long: it would wait for ever.
class replay::patience {
public:
    explicit patience(milliseconds longest) : thread_{[this, longest] { watch(longest); }} {}
    ~patience() {
        {
            const std::scoped_lock lock{mutex_};
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    patience(const patience&) = delete;
    patience& operator=(const patience&) = delete;

    void next_call() noexcept { calls_.fetch_add(1, std::memory_order_relaxed); }

private:
    void watch(milliseconds longest) {
        std::unique_lock lock{mutex_};
        for (std::uint64_t seen = ~std::uint64_t{0}; !over_;) {
            changed_.wait_for(lock, longest, [this] { return over_; });
            const std::uint64_t now = calls_.load(std::memory_order_relaxed);
            if (!over_ && now == seen) mine_.raise();
            seen = now;
        }
    }

    interruption mine_;  // of the thread that made this object
    std::atomic<std::uint64_t> calls_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

replay::replay(const catalog& procedures, milliseconds longest)
    : procedures_{procedures}, waiting_{std::make_unique<patience>(longest)} {}

replay::~replay() = default;

std::uint64_t replay::run(std::string_view group, std::uint64_t first) {
    std::uint64_t calls = 0;
    while (!group.empty()) {
        const journal::record r = journal::decode(group);
        if (r.position < first) continue;
        waiting_->next_call();
        try {
            run_record(r, procedures_);
        } catch (const std::exception& e) {
            throw std::runtime_error{"call " + std::to_string(r.position) + " of the log, " +
                                     std::string{r.parts.front().procedure} + ", cannot be run again: " + e.what()};
        }
        ++calls;
    }
    return calls;
}

recovered recover(journal::journal& from, const catalog& procedures, milliseconds longest) {
    recovered sum;
    load_all(from.file(), procedures, sum);
    replay again{procedures, longest};  // for each call; a load may take as long as it does
    const std::uint64_t first = from.file().snapshot_position();
    from.file().read_groups([&](std::string_view group) { sum.calls += again.run(group, first); });
    return sum;
}

journal::snapshot dump_at(std::uint64_t position, const catalog& procedures) {
    return dump_all(procedures, position, [](tutti::tx&) {});
}

snapshots::snapshots(journal::journal& of, const catalog& procedures, std::function<void(const std::string&)> tell)
    : of_{of}, procedures_{procedures}, tell_{std::move(tell)} {
    if (!procedures.kept().empty()) thread_ = std::thread{[this] { work(); }};
}

snapshots::~snapshots() { finish(); }

void snapshots::finish() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock{mutex_};
        ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void snapshots::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-snapshot");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    constexpr milliseconds between_looks{500}, longest_pause{60'000};
    constexpr std::uint64_t too_much = 8;  // times that, for the sake of a follower
    milliseconds pause = between_looks;    // longer after each that failed, which has dumped everything in vain
    const std::size_t after = of_.settings().snapshot_after;
    std::unique_lock lock{mutex_};
    while (!ending_) {
        changed_.wait_for(lock, pause, [this] { return ending_; });
        lock.unlock();
        if (after != 0 && of_.bytes_to_replay() / (of_.is_copied() ? too_much : 1) > after && !of_.in_trouble())
            pause = take() ? between_looks : std::min(2 * pause, longest_pause);
        lock.lock();
    }
    lock.unlock();
    if (of_.has_news()) static_cast<void>(take());
}

bool snapshots::take() noexcept {
    try {
        cut at{of_};
        const std::string failed = of_.keep(dump_all(procedures_, at.position, [&](tutti::tx& t) { at.join(t); }));
        if (failed.empty()) return true;
        tell_("no snapshot was kept: " + failed);
    } catch (const std::exception& e) {
        tell_(std::string{"no snapshot was made: "} + e.what());
    }
    return false;
}

}  // namespace tutti::server
