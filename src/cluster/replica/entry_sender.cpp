#include "cluster/replica/entry_sender.hpp"

#include <algorithm>
#include <memory>

#include "cluster/replica/fault_injection.hpp"

namespace tutti::cluster::replica {
namespace {

/// The largest number of pieces in progress to one member. It is enough for a slow disk.
constexpr std::size_t pieces_in_window = 4;

// Values of raft_progress::state, which the headers do not name.
constexpr unsigned short probe = 0, pipeline = 1;

}  // namespace

/// A message that waits for the network, and replaces C-Raft's request.
struct entry_sender::outgoing {
    raft_io_send mine{};
    raft_io_send* asked = nullptr;
    raft_io_send_cb done = nullptr;
    entry_sender* by = nullptr;
    raft_id to = 0;
    std::uint64_t number = 0;
};

entry_sender::entry_sender(raft& of, const raft_io& under, std::size_t piece_bytes)
    : raft_{of}, under_{under}, piece_bytes_{piece_bytes}, window_{pieces_in_window * piece_bytes} {}

entry_sender::length entry_sender::first_piece(const raft_append_entries& all) const noexcept {
    length l;
    while (l.entries < all.n_entries) {
        const std::size_t more = all.entries[l.entries].buf.len;
        if (l.entries != 0 && l.bytes + more > piece_bytes_) break;
        l.bytes += more;
        ++l.entries;
    }
    return l;
}

raft_progress* entry_sender::progress_of(raft_id member) noexcept {
    if (raft_.state != RAFT_LEADER) return nullptr;
    const raft_server* const all = raft_.configuration.servers;
    const raft_server* const end = all + raft_.configuration.n;
    const raft_server* const found = std::find_if(all, end, [member](const raft_server& s) { return s.id == member; });
    return found == end ? nullptr : raft_.leader_state.progress + (found - all);
}

bool entry_sender::holds_back(std::vector<piece>& sent, raft_index first, raft_index acknowledged, raft_time now) {
    std::erase_if(sent, [&](const piece& p) {
        if (p.last <= acknowledged) return true;
        return p.written && now - p.since >= raft_.election_timeout;
    });
    std::size_t bytes = 0;
    for (const piece& p : sent) {
        if (p.first <= first && first <= p.last) return true;
        bytes += p.bytes;
    }
    return bytes >= window_;
}

int entry_sender::send(raft_io* io, raft_io_send* request, const raft_message& message, raft_io_send_cb done) {
    const raft_append_entries& all = message.append_entries;
    raft_progress* const progress = progress_of(message.server_id);
    if (progress == nullptr || all.n_entries == 0 || injected(fault::sends_all))
        return under_.send(io, request, &message, done);
    if (all.term != term_) in_progress_.clear();
    term_ = all.term;
    const raft_time now = under_.time(io);
    std::vector<piece>& sent = in_progress_[message.server_id];
    const raft_index first = all.prev_log_index + 1;
    const bool held = holds_back(sent, first, progress->match_index, now);
    if (held && now - progress->last_send < raft_.heartbeat_timeout) {
        if (progress->state == pipeline) progress->state = probe;
        return RAFT_NOCONNECTION;
    }
    const length l = held ? length{} : first_piece(all);
    raft_message shorter = message;
    raft_append_entries& some = shorter.append_entries;
    some.n_entries = l.entries;
    if (!injected(fault::commits_behind_piece))
        some.leader_commit = std::min(some.leader_commit, some.prev_log_index + l.entries);
    sent.reserve(sent.size() + 1);
    auto w = std::make_unique<outgoing>();
    *w = {{}, request, done, this, message.server_id, ++last_number_};
    w->mine.data = w.get();
    const int failed = under_.send(io, &w->mine, &shorter, [](raft_io_send* r, int status) {
        const std::unique_ptr<outgoing> gone{static_cast<outgoing*>(r->data)};
        gone->by->written(gone->to, gone->number, status);
        gone->done(gone->asked, status);
    });
    if (failed != 0) return failed;
    const std::uint64_t number = w.release()->number;  // the network calls the callback, which frees the message
    if (l.entries != 0) sent.push_back({first, first + l.entries - 1, l.bytes, number, now, false});
    // C-Raft moves next_index behind all entries unless the state has changed.
    if (l.entries < all.n_entries && progress->state == pipeline) {
        progress->state = probe;
        progress->next_index = first + l.entries;
    }
    return 0;
}

void entry_sender::written(raft_id to, std::uint64_t number, int status) noexcept {
    if (status != 0) return forget(to);
    const auto all = in_progress_.find(to);
    if (all == in_progress_.end()) return;
    for (piece& p : all->second) {
        if (p.number != number) continue;
        p.written = true;
        p.since = under_.time(raft_.io);
    }
}

void entry_sender::acknowledge(raft_id member, raft_term term, raft_index last) noexcept {
    raft_progress* const progress = progress_of(member);
    if (progress == nullptr || term != raft_.current_term) return;
    if (const auto sent = in_progress_.find(member); sent != in_progress_.end())
        std::erase_if(sent->second, [last](const piece& p) { return p.last <= last; });
    const raft_index known = std::min(last, raft_last_index(&raft_));
    if (injected(fault::sends_uncounted_again)) return;
    if ((progress->state == probe || progress->state == pipeline) && progress->next_index <= known)
        progress->next_index = known + 1;
}

void entry_sender::forget(raft_id member) noexcept {
    if (const auto sent = in_progress_.find(member); sent != in_progress_.end()) sent->second.clear();
}

}  // namespace tutti::cluster::replica
