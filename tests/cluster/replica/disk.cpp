#include "cluster/replica/disk.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace tutti::cluster::replica::testing {
namespace {

template <class T>
T* give_room(std::size_t n) {
    // At least one byte, so that the result is not null.
    void* room = raft_malloc(std::max<std::size_t>(n * sizeof(T), 1));
    if (room == nullptr) throw std::bad_alloc{};
    return static_cast<T*>(room);
}

std::string text(const raft_buffer& b) { return {static_cast<const char*>(b.base), b.len}; }

}  // namespace

void disk::truncate(raft_index from) {
    if (from <= start) entries.clear();
    else if (from - start < entries.size()) entries.resize(from - start);
}

void disk::put(stored_snapshot s, unsigned trailing) {
    if (trailing == 0) {
        entries.clear();
        start = s.index + 1;
    } else if (s.index > trailing && s.index - trailing >= start) {
        const std::size_t gone = std::min<std::size_t>(s.index - trailing - start + 1, entries.size());
        entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(gone));
        start += gone;
    }
    snapshot = std::move(s);
}

std::vector<stored_entry> copy_of(const raft_entry* entries, std::size_t n) {
    std::vector<stored_entry> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back({entries[i].term, entries[i].type, text(entries[i].buf)});
    return all;
}

std::vector<stored_server> copy_of(const raft_configuration& c) {
    std::vector<stored_server> all;
    for (unsigned i = 0; i < c.n; ++i) all.push_back({c.servers[i].id, c.servers[i].address, c.servers[i].role});
    return all;
}

stored_snapshot copy_of(const raft_snapshot& s) {
    stored_snapshot all{s.index, s.term, copy_of(s.configuration), s.configuration_index, {}};
    for (unsigned i = 0; i < s.n_bufs; ++i) all.bytes += text(s.bufs[i]);
    return all;
}

raft_entry* give(const std::vector<stored_entry>& entries) {
    if (entries.empty()) return nullptr;
    std::size_t bytes = 0;
    for (const stored_entry& e : entries) bytes += (e.bytes.size() + 7) / 8 * 8;
    char* batch = give_room<char>(bytes);
    auto* all = give_room<raft_entry>(entries.size());
    char* next = batch;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const stored_entry& e = entries[i];
        std::memcpy(next, e.bytes.data(), e.bytes.size());
        all[i] = {e.term, e.type, {next, e.bytes.size()}, batch};
        next += (e.bytes.size() + 7) / 8 * 8;
    }
    return all;
}

void give(const std::vector<stored_server>& servers, raft_configuration& into) {
    raft_configuration_init(&into);
    for (const stored_server& s : servers) {
        if (raft_configuration_add(&into, s.id, s.address.c_str(), s.role) != 0) throw std::bad_alloc{};
    }
}

raft_buffer give(const std::string& bytes) {
    raft_buffer b{give_room<char>(bytes.size()), bytes.size()};
    std::memcpy(b.base, bytes.data(), bytes.size());
    return b;
}

raft_snapshot* give(const stored_snapshot& s) {
    auto* all = give_room<raft_snapshot>(1);
    all->index = s.index;
    all->term = s.term;
    give(s.configuration, all->configuration);
    all->configuration_index = s.configuration_index;
    all->bufs = give_room<raft_buffer>(1);
    all->bufs[0] = give(s.bytes);
    all->n_bufs = 1;
    return all;
}

}  // namespace tutti::cluster::replica::testing
