#include "preempt/code_map.hpp"

#include <algorithm>
#include <stdexcept>

#include "preempt/application.hpp"
#include "preempt/library_calls.hpp"
#include "preempt/loaded_object.hpp"

namespace tutti::preempt {

void code_map::add(const void* begin, const void* end) {
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t length = reinterpret_cast<std::uintptr_t>(end) - from;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < count; ++i) {
        if (ranges_[i].begin == from && ranges_[i].length == length) return;
    }
    if (count == max_ranges) throw std::length_error{"tutti: more than 256 ranges of application code"};
    ranges_[count] = {from, length};
    count_.store(count + 1, std::memory_order_release);  // partner: the acquire in `contains`
    if (on_range_added_ != nullptr) on_range_added_(from, from + length);
}

void code_map::add(const loaded_object::range& code) {
    add(reinterpret_cast<const void*>(code.begin), reinterpret_cast<const void*>(code.end));
}

bool code_map::add_object_of(const void* address) {
    const std::vector<loaded_object> all = loaded_object::all();
    const auto found = std::ranges::find_if(
        all, [&](const loaded_object& o) { return o.contains(reinterpret_cast<std::uintptr_t>(address)); });
    if (found == all.end()) return false;
    const std::vector<const loaded_object*> objects = application_of(*found, all);
    std::vector<const loaded_object*> added;
    for (const loaded_object* const o : objects) {
        const std::vector<loaded_object::range> code = o->code();
        // The map must have room for the object itself. A library that does not fit is skipped, so ticks in its code
        // are deferred.
        const std::size_t taken = count_.load(std::memory_order_relaxed) + code.size() + (ticks_at_calls_ ? 1 : 0);
        if (o != objects.front() && taken > max_ranges) continue;
        for (const loaded_object::range& r : code) add(r);
        added.push_back(o);
    }
    if (!ticks_at_calls_) return true;
    add(call_stubs());
    for (const loaded_object* const o : added) tick_at_library_calls(*o, all, *this);
    return true;
}

}  // namespace tutti::preempt
