#include "world.hpp"

#include <new>

namespace crossings {
namespace {

using tutti::tx;

struct plain_object final : object {
    using object::object;
};
struct object_with_block final : object {
    explicit object_with_block(long n, bool restarts) : object{n}, part{of_captures, restarts} {}
    ends_in_a_block part;
};
/// Owns a container, or another object that has variables.
template <class T>
struct owner final : object {
    template <class Fill, class... Arguments>
    owner(long n, const Fill& fill, Arguments&&... arguments)
        : object{n}, owned(std::forward<Arguments>(arguments)...) {
        fill(owned);
    }
    T owned;
};

template <class T, class Fill, class... Arguments>
object* own(tx& t, long number, const Fill& fill, Arguments&&... arguments) {
    return tutti::create<owner<T>>(t, number, fill, std::forward<Arguments>(arguments)...);
}

long or_nothing(const std::optional<value>& found) { return found ? found->number() : nothing; }
long or_nothing(const std::optional<std::string>& found) { return found ? number_of(*found) : nothing; }

}  // namespace

world::world() {
    for (auto& w : word_) w.store(0);
    for (auto& s : sum_) s.store(0);
    for (auto& x : text_) x.store(text_of(0));
    for (auto& s : object_) s.store(nullptr);
    listener_.emplace(channel_);
}

world::~world() {
    for (auto& s : object_) delete s.load();
    listener_.reset();
}

object* world::make(tx& t, int kind, long number) {
    switch (kind) {
        case 1: return tutti::create<object_with_block>(t, number, false);
        case kind_that_restarts: return tutti::create<object_with_block>(t, number, true);
        case 2: return own<tutti::queue<long>>(t, number, [&](auto& q) { q.push(t, 1); });
        case 3: return own<tutti::hash_map<long, long>>(t, number, [&](auto& m) { m.insert(t, 1, 1); });
        case 4: return own<tutti::ordered_map<long, std::string>>(t, number, [&](auto& m) { m.insert(t, 1, "one"); });
        case 5: return own<tutti::vector<std::string>>(t, number, [&](auto& v) { v.push_back(t, text_of(1)); });
        case 6: return own<tutti::bounded_queue<long>>(t, number, [&](auto& q) { (void)q.try_push(t, 1); }, 4u);
        case 7: return own<tutti::priority_queue<long>>(t, number, [&](auto& q) { q.push(t, 1); });
        case 8: return own<tutti::broadcast<long>>(t, number, [&](auto& c) { c.send(t, 1); });
        case 9: return own<tutti::broadcast<value>::listener>(t, number, [](auto&) {}, channel_);
        case 10: return own<tutti::counter>(t, number, [&](auto& c) { c.add(t, 1); });
        case 11: return own<tutti::var<std::string>>(t, number, [&](auto& v) { v.set(t, text_of(1)); });
        case 12: return own<tutti::one_shot<std::string>>(t, number, [&](auto& s) { (void)s.try_set(t, text_of(1)); });
        case 13:
            return own<tutti::var<std::shared_ptr<shared_value>>>(
                t, number, [&](auto& v) { v.set(t, std::make_shared<shared_value>(number)); });
        default: return tutti::create<plain_object>(t, number);
    }
}

long world::apply(tx& t, step what, int first, int second) {
    const int key = first % keys;
    switch (what) {
        case step::word_get: return word_[place(first, words)].get(t);
        case step::word_set: word_[place(first, words)].set(t, second); return 0;
        case step::word_add: return word_[place(first, words)].update(t, [&](long v) { return v + second; });
        case step::text_get: return number_of(text_[place(first, texts)].get(t));
        case step::text_set: text_[place(first, texts)].set(t, text_of(second)); return 0;
        case step::share_get: {
            const auto& found = share_[place(first, shares)].get(t);
            return found ? found->number : 0;
        }
        case step::share_set: share_[place(first, shares)].set(t, std::make_shared<shared_value>(second)); return 0;
        case step::value_get: return value_[place(first, values)].get(t).number();
        case step::value_set: value_[place(first, values)].set(t, second); return 0;
        case step::plain_get: return tutti::load(t, &plain_[place(first, plain_words)]);
        case step::plain_set: tutti::store(t, &plain_[place(first, plain_words)], second); return 0;
        case step::object_get: {
            const object* const found = object_[place(first, objects)].get(t);
            return found != nullptr ? found->number : 0;
        }
        case step::object_make: {
            auto& slot = object_[place(first, objects)];
            object* const fresh = make(t, second % kinds_of_object, second + 1);
            tutti::destroy(t, slot.get(t));
            slot.set(t, fresh);
            return 0;
        }
        case step::object_drop: {
            object* const found = object_[place(first, objects)].exchange(t, nullptr);
            const long number = found != nullptr ? found->number : 0;
            tutti::destroy(t, found);
            return number;
        }
        // Reads nothing, so an object of a restarted nested block is destroyed inside the transaction.
        case step::object_brief: tutti::destroy(t, make(t, second % kinds_of_object, second + 1)); return 0;
        case step::hash_get: return or_nothing(hash_.find(t, key));
        case step::hash_put: return hash_.insert_or_assign(t, key, second) ? 1 : 0;
        case step::hash_take: return or_nothing(hash_.extract(t, key));
        case step::hash_size: return static_cast<long>(hash_.size(t));
        case step::tree_get: return or_nothing(tree_.find(t, key));
        case step::tree_put: return tree_.insert_or_assign(t, key, second) ? 1 : 0;
        case step::tree_take: return or_nothing(tree_.extract(t, key));
        case step::tree_first: {
            const auto found = tree_.front(t);
            return found ? found->second.number() : nothing;
        }
        case step::multi_put: multi_.insert(t, key, second); return 0;
        case step::multi_take: return or_nothing(multi_.extract(t, key));
        case step::multi_count: return static_cast<long>(multi_.count(t, key));
        case step::hash_set_put: return hash_set_.insert(t, key) ? 1 : 0;
        case step::hash_set_take: return hash_set_.erase(t, key) ? 1 : 0;
        case step::tree_set_put: return tree_set_.insert(t, key) ? 1 : 0;
        case step::tree_set_take: return tree_set_.erase(t, key) ? 1 : 0;
        case step::queue_put: queue_.push(t, text_of(second)); return 0;
        case step::queue_take: return or_nothing(queue_.try_pop(t));
        case step::queue_size: return static_cast<long>(queue_.size(t));
        case step::ring_put: return ring_.try_push(t, second) ? 1 : 0;
        case step::ring_take: return or_nothing(ring_.try_pop(t));
        case step::vector_put: vector_.push_back(t, second); return 0;
        case step::vector_take: return or_nothing(vector_.pop_back(t));
        case step::vector_set: {
            const std::size_t size = vector_.size(t);
            if (size == 0) return nothing;
            vector_.set(t, static_cast<std::size_t>(first) % size, second);
            return 0;
        }
        case step::vector_get: {
            const std::size_t size = vector_.size(t);
            return size == 0 ? nothing : vector_.get(t, static_cast<std::size_t>(first) % size).number();
        }
        case step::heap_put: heap_.push(t, second); return 0;
        case step::heap_take: return or_nothing(heap_.try_pop(t));
        case step::shot_set: return shot_.try_set(t, second) ? 1 : 0;
        case step::shot_get: return or_nothing(shot_.try_get(t));
        case step::permit_take: return permits_.try_acquire(t) ? 1 : 0;
        case step::permit_give: permits_.release(t); return 0;
        case step::channel_send: channel_.send(t, second); return 0;
        case step::channel_receive: return or_nothing(listener_->try_receive(t));
        case step::counter_add: count_.add(t, second); return 0;
        case step::counter_get: return count_.get(t);
        case step::sum_add: return sum_[place(first, sums)].update(t, [&](long v) { return v + second; });
        default: return 0;
    }
}

long world::apply_failing(tx& t, const node& n, std::uint64_t most) {
    // These steps consist of several operations, so a nested block makes them atomic.
    const bool in_parts = n.what == step::object_make || n.what == step::object_drop || n.what == step::object_brief;
    for (std::uint64_t at = 1;; ++at) {
        try {
            const failing here{(n.options & starved) != 0, (n.options & fragile) != 0, at};
            if (!in_parts) return apply(t, n.what, n.first, n.second);
            return tutti::atomically([&](tx& inner) { return apply(inner, n.what, n.first, n.second); });
        } catch (const std::bad_alloc&) {
            if (at >= most) throw;
        } catch (const copy_failure&) {
            if (at >= most) throw;
        }
    }
}

long world::apply_alone(step what, int first, int second) {
    const int key = first % keys;
    switch (what) {
        case step::word_get: return word_[place(first, words)].load();
        case step::word_set: word_[place(first, words)].store(second); return 0;
        case step::text_get: return number_of(text_[place(first, texts)].load());
        case step::text_set: text_[place(first, texts)].store(text_of(second)); return 0;
        case step::share_set: share_[place(first, shares)].store(std::make_shared<shared_value>(second)); return 0;
        case step::value_get: return value_[place(first, values)].load().number();
        case step::value_set: value_[place(first, values)].store(second); return 0;
        case step::hash_put: return hash_.insert_or_assign(key, second) ? 1 : 0;
        case step::hash_take: return or_nothing(hash_.extract(key));
        case step::tree_set_put: return tree_set_.insert(key) ? 1 : 0;
        case step::queue_put: queue_.push(text_of(second)); return 0;
        case step::queue_take: return or_nothing(queue_.try_pop());
        case step::ring_put: return ring_.try_push(second) ? 1 : 0;
        case step::vector_put: vector_.push_back(second); return 0;
        case step::heap_take: return or_nothing(heap_.try_pop());
        case step::shot_set: return shot_.try_set(second) ? 1 : 0;
        case step::permit_take: return permits_.try_acquire() ? 1 : 0;
        case step::channel_receive: return or_nothing(listener_->try_receive());
        case step::counter_add: count_.add(second); return 0;
        case step::counter_get: return count_.load();
        default: return tutti::atomically([&](tx& t) { return apply(t, what, first, second); });
    }
}

}  // namespace crossings
