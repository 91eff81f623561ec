// A table that is only ever appended to: a list, newest row first.
#pragma once

#include <tutti/tutti.hpp>

namespace tpcc {

/// @tparam Row  copyable; never changes once it is in
template <class Row>
class append_log {
public:
    append_log() = default;
    append_log(const append_log&) = delete;
    append_log& operator=(const append_log&) = delete;
    /// REQUIRES: no transaction can reach the log.
    ~append_log() {
        for (const node* n = newest_.load(); n != nullptr;) {
            const node* const older = n->older;
            delete n;
            n = older;
        }
    }

    /// Any two appends to one log conflict.
    void append(tutti::tx& t, const Row& row) { newest_.set(t, tutti::create<node>(t, row, newest_.get(t))); }

    /// Calls f(const Row&) for every row, newest first. REQUIRES: no transaction is writing the log.
    template <class F>
    void for_each(F f) const {
        for (const node* n = newest_.load(); n != nullptr; n = n->older) f(n->row);
    }

private:
    struct node {
        node(const Row& r, const node* o) : row{r}, older{o} {}
        const Row row;
        const node* const older;
    };

    tutti::var<const node*> newest_{nullptr};
};

}  // namespace tpcc
