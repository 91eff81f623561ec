#include "server/calls/dump.hpp"

#include <cstring>
#include <stdexcept>

#include "core/state/descriptor.hpp"
#include "tutti/atomically.hpp"

namespace tutti::server {
namespace {

// ---- A piece consists of the length of the name, the name, and the bytes.

std::string piece_of(const std::string& name, std::string_view bytes) {
    const auto length = static_cast<std::uint32_t>(name.size());
    std::string all(sizeof length, '\0');
    all.reserve(sizeof length + name.size() + bytes.size());
    std::memcpy(all.data(), &length, sizeof length);
    all.append(name).append(bytes);
    return all;
}

/// The pieces of a dump. If a nested block is rolled back, the pieces that the block has put are removed.
class dumped {
public:
    explicit dumped(snapshot_sink& to) : to_{to} {}
    void clear() {
        if (count_ != 0) to_.truncate(0);
        count_ = 0;
        block_ = nullptr;
    }
    void put(std::string piece) {
        tx& t = *tutti::detail::current_transaction;
        const core::descriptor& d = core::descriptor::of(t);
        const tutti::detail::frame& in = *d.frame_;
        // A new block may have the address of a block that has ended. In this case, the new block began when the
        // deferred log already contained the earlier block's undo action.
        if (in.parent != nullptr && (&in != block_ || registered_ <= in.mark.deferred)) {
            t.on_abort([this, put_before = count_] {
                count_ = put_before;
                is_behind_ = true;  // catch_up() truncates the sink, which may throw, but an undo action must not
                block_ = nullptr;
            });
            block_ = &in;
            registered_ = d.deferred_log.size();
        }
        catch_up();
        to_.put(std::move(piece));
        ++count_;
    }
    /// Makes the sink drop the pieces that were removed.
    void catch_up() {
        if (std::exchange(is_behind_, false)) to_.truncate(count_);
    }

private:
    snapshot_sink& to_;
    std::uint64_t count_ = 0;
    bool is_behind_ = false;
    const tutti::detail::frame* block_ = nullptr;  // the nested block that has registered the latest undo action
    std::size_t registered_ = 0;                   // size of the log of deferred actions after that action
};

class writer final : public snapshot_writer {
public:
    writer(const std::string& name, dumped& to) : name_{name}, to_{to} {}
    void put(std::string_view piece) override { to_.put(piece_of(name_, piece)); }

private:
    const std::string& name_;
    dumped& to_;
};

}  // namespace

void dump(const catalog& procedures, snapshot_sink& to) {
    dumped pieces{to};
    // The transaction is read-only and keeps no log of its reads, because no other thread writes during the dump.
    tutti::atomically({.name = "snapshot", .read_only = true}, [&](tutti::tx&) {
        pieces.clear();
        for (const snapshot_hooks& k : procedures.all_snapshot_hooks()) {
            writer to_one{k.name, pieces};
            k.dump(to_one);
        }
        pieces.catch_up();
    });
}

std::pair<std::string_view, std::string_view> name_and_bytes(std::string_view piece) {
    std::uint32_t length = 0;
    if (piece.size() < sizeof length) throw std::runtime_error{"the snapshot is damaged: a piece is too short"};
    std::memcpy(&length, piece.data(), sizeof length);
    piece.remove_prefix(sizeof length);
    if (piece.size() < length) throw std::runtime_error{"the snapshot is damaged: a piece is too short"};
    return {piece.substr(0, length), piece.substr(length)};
}

}  // namespace tutti::server
