#include "model.hpp"

#include <iterator>
#include <utility>

namespace crossings {
namespace {

template <class Map>
long look(const Map& m, int key) {
    const auto found = m.find(key);
    return found == m.end() ? nothing : found->second;
}
template <class Map>
long take(Map& m, int key) {
    const long value = look(m, key);
    m.erase(key);
    return value;
}
long take_front(std::deque<long>& q) {
    if (q.empty()) return nothing;
    const long value = q.front();
    q.pop_front();
    return value;
}

}  // namespace

long model::apply(step what, int first, int second) {
    switch (what) {
        case step::word_get: return word[place(first, words)];
        case step::word_set: word[place(first, words)] = second; return 0;
        case step::word_add: return word[place(first, words)] += second;
        case step::text_get: return text[place(first, texts)];
        case step::text_set: text[place(first, texts)] = second; return 0;
        case step::share_get: return share[place(first, shares)];
        case step::share_set: share[place(first, shares)] = second; return 0;
        case step::value_get: return value[place(first, values)];
        case step::value_set: value[place(first, values)] = second; return 0;
        case step::plain_get: return plain[place(first, plain_words)];
        case step::plain_set: plain[place(first, plain_words)] = second; return 0;
        case step::object_get: return object[place(first, objects)];
        case step::object_make: object[place(first, objects)] = second + 1; return 0;
        case step::object_drop: return std::exchange(object[place(first, objects)], 0);
        case step::hash_get: return look(hash, first % keys);
        case step::hash_put: return hash.insert_or_assign(first % keys, second).second ? 1 : 0;
        case step::hash_take: return take(hash, first % keys);
        case step::hash_size: return static_cast<long>(hash.size());
        case step::tree_get: return look(tree, first % keys);
        case step::tree_put: return tree.insert_or_assign(first % keys, second).second ? 1 : 0;
        case step::tree_take: return take(tree, first % keys);
        case step::tree_first: return tree.empty() ? nothing : tree.begin()->second;
        case step::multi_put: multi[first % keys].push_back(second); return 0;
        case step::multi_take: return multi.contains(first % keys) ? take_front(multi[first % keys]) : nothing;
        case step::multi_count: return multi.contains(first % keys) ? static_cast<long>(multi[first % keys].size()) : 0;
        case step::hash_set_put: return hash_set.insert(first % keys).second ? 1 : 0;
        case step::hash_set_take: return static_cast<long>(hash_set.erase(first % keys));
        case step::tree_set_put: return tree_set.insert(first % keys).second ? 1 : 0;
        case step::tree_set_take: return static_cast<long>(tree_set.erase(first % keys));
        case step::queue_put: queue.push_back(second); return 0;
        case step::queue_take: return take_front(queue);
        case step::queue_size: return static_cast<long>(queue.size());
        case step::ring_put:
            if (ring.size() == ring_capacity) return 0;
            ring.push_back(second);
            return 1;
        case step::ring_take: return take_front(ring);
        case step::vector_put: vector.push_back(second); return 0;
        case step::vector_take: {
            if (vector.empty()) return nothing;
            const long value = vector.back();
            vector.pop_back();
            return value;
        }
        case step::vector_set:
            if (vector.empty()) return nothing;
            vector[static_cast<std::size_t>(first) % vector.size()] = second;
            return 0;
        case step::vector_get:
            return vector.empty() ? nothing : vector[static_cast<std::size_t>(first) % vector.size()];
        case step::heap_put: heap.insert(second); return 0;
        case step::heap_take: {
            if (heap.empty()) return nothing;
            const auto last = std::prev(heap.end());
            const long value = *last;
            heap.erase(last);
            return value;
        }
        case step::shot_set:
            if (shot != nothing) return 0;
            shot = second;
            return 1;
        case step::shot_get: return shot;
        case step::permit_take:
            if (permits == 0) return 0;
            --permits;
            return 1;
        case step::permit_give: ++permits; return 0;
        case step::channel_send: channel.push_back(second); return 0;
        case step::channel_receive: return take_front(channel);
        case step::counter_add: count += second; return 0;
        case step::counter_get: return count;
        case step::sum_add: return sum[place(first, sums)] += second;
        default: return 0;
    }
}

}  // namespace crossings
