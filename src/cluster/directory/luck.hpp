// Which of this node's own pointers are worth following, learnt from what became of them.
//
// Where many nodes write an object, a pointer to it is mostly old: the object has moved on, and the node that it moved
// to has seen it go, too. The home hears of every move. So a look that begins there finds the owner at the second node
// that it asks; one that begins at a pointer at the first if that is right, and at the third by way of the home if it
// is not. What the home says tells whether the pointer would have been right, so either way something is learnt. As
// branches are predicted: counters of two bits, which objects of one hash share (Smith, "A Study of Branch Prediction
// Strategies", ISCA 1981).
//
// Thread safety: every member. A count that threads lose to each other is a guess that is a little worse.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

class pointer_luck {
public:
    pointer_luck() noexcept {
        for (auto& c : counters_) c.store(weakly_wrong, std::memory_order_relaxed);
    }
    [[nodiscard]] bool follows(const object_id& id) const noexcept {
        return counters_[index_of(id)].load(std::memory_order_relaxed) >= weakly_right;
    }
    void was(const object_id& id, bool right) noexcept {
        std::atomic<std::uint8_t>& c = counters_[index_of(id)];
        const std::uint8_t now = c.load(std::memory_order_relaxed);
        if (right && now < surely_right) c.store(static_cast<std::uint8_t>(now + 1), std::memory_order_relaxed);
        if (!right && now > 0) c.store(static_cast<std::uint8_t>(now - 1), std::memory_order_relaxed);
    }

private:
    static constexpr std::uint8_t weakly_wrong = 1, weakly_right = 2, surely_right = 3;
    [[nodiscard]] static std::size_t index_of(const object_id& id) noexcept {
        return object_id_hash{}(id) % std::tuple_size_v<decltype(counters_)>;
    }
    std::array<std::atomic<std::uint8_t>, 1u << 14> counters_;
};

}  // namespace tutti::cluster
