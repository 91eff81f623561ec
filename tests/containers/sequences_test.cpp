// vector, queue and bounded_queue against std::vector and std::deque, in one thread.
#include <deque>

#include "containers/model.hpp"
#include "tutti/containers/bounded_queue.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"

namespace tutti::containers {
namespace {

template <class Container>
seen held_in(const Container& c) {
    seen held;
    for (const auto& v : c) held.push_back(number_of(v));
    return held;
}
template <class Container>
seen held_in(tx& t, const Container& c) {
    seen held;
    c.for_each(t, [&](const auto& v) { held.push_back(number_of(v)); });
    RC_ASSERT(held.size() == c.size(t));
    return held;
}

template <class T>
struct vector_trial {
    static constexpr int kinds = 13;

    static seen on(tx& t, vector<T>& v, const step& s) {
        const std::size_t size = v.size(t);
        const auto index = static_cast<std::size_t>(s.key);
        switch (s.what) {
            case 0:
            case 1:
            case 2: v.push_back(t, make<T>(s.value)); return {};
            case 3: return {number_of(v.pop_back(t))};
            case 4:
                if (index < size) v.set(t, index, make<T>(s.value));
                return {};
            case 5: return {index < size ? number_of(v.get(t, index)) : -1};
            case 6: try { return {number_of(v.at(t, index))};
                } catch (const std::out_of_range&) {
                    return {-2};
                }
            case 7: return {number_of(v.back(t)), static_cast<long>(size), v.empty(t)};
            // The same operations in their own transactions, which are part of this one.
            case 8: v.push_back(make<T>(s.value)); return {};
            case 9: return {number_of(v.pop_back())};
            case 10:
                try {
                    v.set(index, make<T>(s.value));
                    return {number_of(v.at(index))};
                } catch (const std::out_of_range&) {
                    return {-2};
                }
            case 11: return {number_of(v.back()), static_cast<long>(v.size())};
            default:
                if (index % 16 != 0) return {};
                if (s.value % 2 == 0) v.clear(t);
                else v.clear();
                return {};
        }
    }
    static seen on(std::vector<T>& v, const step& s) {
        const auto index = static_cast<std::size_t>(s.key);
        switch (s.what) {
            case 0:
            case 1:
            case 2:
            case 8: v.push_back(make<T>(s.value)); return {};
            case 3:
            case 9: {
                if (v.empty()) return {-1};
                const long last = number_of(v.back());
                v.pop_back();
                return {last};
            }
            case 4:
                if (index < v.size()) v[index] = make<T>(s.value);
                return {};
            case 5: return {index < v.size() ? number_of(v[index]) : -1};
            case 6: return {index < v.size() ? number_of(v[index]) : -2};
            case 7: return {v.empty() ? -1 : number_of(v.back()), static_cast<long>(v.size()), v.empty()};
            case 10:
                if (index >= v.size()) return {-2};
                v[index] = make<T>(s.value);
                return {number_of(v[index])};
            case 11: return {v.empty() ? -1 : number_of(v.back()), static_cast<long>(v.size())};
            default:
                if (index % 16 == 0) v.clear();
                return {};
        }
    }
    static seen all(tx& t, vector<T>& v) { return held_in(t, v); }
    static seen all(const std::vector<T>& v) { return held_in(v); }
};

template <class T>
void try_vector() {
    vector<T> subject;
    run<vector_trial<T>>(*programs(vector_trial<T>::kinds, 100), subject, std::vector<T>{});
}
RC_GTEST_PROP(vector_property, numbers, ()) { try_vector<long>(); }
RC_GTEST_PROP(vector_property, strings, ()) { try_vector<std::string>(); }
RC_GTEST_PROP(vector_property, shared_pointers, ()) { try_vector<std::shared_ptr<int>>(); }
RC_GTEST_PROP(vector_property, small_values_without_a_default, ()) { try_vector<no_default>(); }

/// The steps of both queues; `limit` is the model's capacity.
template <class Queue, std::size_t limit>
struct queue_trial {
    static constexpr int kinds = 6;
    using T = typename Queue::value_type;

    static seen on(tx& t, Queue& q, const step& s) {
        switch (s.what) {
            case 0:
            case 1:
                if constexpr (requires { q.try_push(t, make<T>(0)); }) return {q.try_push(t, make<T>(s.value))};
                else return q.push(t, make<T>(s.value)), seen{1};
            case 2: return {number_of(q.try_pop(t))};
            case 3: {
                // An operation that waits is not used: an alternative answers instead.
                const auto otherwise = [](tx&) { return std::optional<T>{}; };
                return {number_of(or_else(t, [&](tx& u) { return std::optional<T>{q.pop(u)}; }, otherwise))};
            }
            case 4: return {number_of(q.front(t)), q.empty(t)};
            default:
                if constexpr (requires { q.full(t); }) return {static_cast<long>(q.size(t)), q.full(t)};
                else return {static_cast<long>(q.size(t)), 0};
        }
    }
    static seen on(std::deque<T>& q, const step& s) {
        const long front = q.empty() ? -1 : number_of(q.front());
        switch (s.what) {
            case 0:
            case 1:
                if (q.size() == limit) return {0};
                q.push_back(make<T>(s.value));
                return {1};
            case 2:
            case 3:
                if (!q.empty()) q.pop_front();
                return {front};
            case 4: return {front, q.empty()};
            default: return {static_cast<long>(q.size()), q.size() == limit};
        }
    }
    static seen all(tx& t, Queue& q) { return held_in(t, q); }
    static seen all(const std::deque<T>& q) { return held_in(q); }
};

template <class T>
void try_queue() {
    using trial = queue_trial<queue<T>, 1'000'000>;
    queue<T> subject;
    run<trial>(*programs(trial::kinds, 1), subject, std::deque<T>{});
}
template <class T, std::size_t limit>
void try_bounded_queue() {
    using trial = queue_trial<bounded_queue<T>, limit>;
    bounded_queue<T> subject{limit};
    run<trial>(*programs(trial::kinds, 1), subject, std::deque<T>{});
}
RC_GTEST_PROP(queue_property, numbers, ()) { try_queue<long>(); }
RC_GTEST_PROP(queue_property, strings, ()) { try_queue<std::string>(); }
RC_GTEST_PROP(bounded_queue_property, of_one, ()) { try_bounded_queue<long, 1>(); }
RC_GTEST_PROP(bounded_queue_property, of_several, ()) { try_bounded_queue<std::string, 5>(); }
RC_GTEST_PROP(bounded_queue_property, shared_pointers, ()) { try_bounded_queue<std::shared_ptr<int>, 3>(); }

TEST(bounded_queue_capacity, rejects_zero) { EXPECT_THROW(bounded_queue<int>{0}, std::invalid_argument); }

}  // namespace
}  // namespace tutti::containers
