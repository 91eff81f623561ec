/// @file
/// What a block of HyflowCPP remembers at its checkpoints, so that it goes on from the last one that still holds.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tutti/cluster/hyflow/object.hpp"

namespace tutti::cluster::hyflow::detail {

/// The checkpoints of one block.
///
/// A conflict over an object ends the whole attempt. The next one opens what the block had touched before its last
/// checkpoint, in one round trip, and compares it with what it was: the block goes on at the last checkpoint before
/// whose objects nothing has changed, with what it had written until then written again (HyflowCPP, 5.3: every object
/// belongs to the checkpoint after which it was first touched). What a block does before a checkpoint depends on the
/// objects that it has touched there and on nothing else; so, where those are equal, it would do the same again. That
/// makes the comparison of values as good as one of versions (as in NOrec: Dalessandro, Spear, Scott, PPoPP 2010), and
/// what was compared is in the read set of the attempt, which validates it as it does every read.
///
/// A conflict inside a nested block may take back that block alone, and it runs again in the same attempt. What its
/// last run had found must not be compared with then: the object may have changed before the block ran again, and be
/// again what it was when the attempt ends, though what the block has done depends on what it was in between (ABA).
/// So a nested block that runs again has the blocks around it forget what it had told them of.
class checkpoints {
public:
    void enable() noexcept { enabled_ = true; }
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }

    /// REQUIRES: before the block changes it for the first time.
    void touched(tx& t, node& here, const std::string& id) {
        if (!enabled_ || index_.contains(id)) return;
        object fresh{id, bytes_of(t, here, id), false};  // may restart the block, which must find nothing half made
        objects_.push_back(std::move(fresh));
        index_.emplace(id, objects_.size() - 1);
    }
    void written(const std::string& id) {
        if (enabled_) objects_.at(index_.at(id)).written = true;
    }
    /// How many objects it knows of.
    [[nodiscard]] std::size_t known() const noexcept { return objects_.size(); }
    /// A nested block runs again that had begun when so many objects were known: what was first touched by its last
    /// run is not known any more. REQUIRES: no checkpoint since then.
    void forget_since(std::size_t known) {
        for (std::size_t i = known; i < objects_.size(); ++i) index_.erase(objects_[i].id);
        if (known < objects_.size())
            objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(known), objects_.end());
    }
    /// A nested block goes on at a checkpoint of its own: what it had touched before that is of this block, too.
    void adopt(const checkpoints& nested) {
        if (!enabled_) return;
        for (const object& o : nested.objects_) {
            if (const auto [at, is_new] = index_.try_emplace(o.id, objects_.size()); is_new) objects_.push_back(o);
            else if (o.written) objects_[at->second].written = true;
        }
    }
    /// `restore` puts a variable back to what it is now.
    void variable(std::function<void()> restore) { variables_.push_back(std::move(restore)); }

    /// From here on the block can go on at `line`.
    void set(tx& t, node& here, int line) {
        point p{line, objects_.size(), variables_.size(), {}};
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            if (!objects_[i].written) continue;
            const boxed* const now = at(here, objects_[i].id).find(t);
            p.values.push_back({i, now != nullptr ? std::optional<boxed>{*now} : std::nullopt});
        }
        points_.push_back(std::move(p));
    }

    /// Of an attempt that has touched nothing yet: everything is again as it was at the last checkpoint that still
    /// holds. Its line, or 0 for the beginning of the block.
    [[nodiscard]] int resume(tx& t, node& here) {
        const std::size_t valid = points_.empty() ? 0 : count_valid(t, here);
        while (!points_.empty() && points_.back().objects > valid) points_.pop_back();
        if (points_.empty()) {
            forget();
            return 0;
        }
        const point& last = points_.back();
        forget_since(last.objects);
        variables_.resize(last.variables);
        for (object& o : objects_) o.written = false;
        for (const value& v : last.values) {
            objects_[v.of].written = true;
            put(t, at(here, objects_[v.of].id), v.what);
        }
        for (const auto& restore : variables_) restore();
        return last.line;
    }

private:
    struct object {
        std::string id;
        std::optional<std::string> bytes;  // when it was first touched; none: there was no such object
        bool written = false;
    };
    struct value {
        std::size_t of;
        std::optional<boxed> what;
    };
    struct point {
        int line;
        std::size_t objects;    // that were touched before it
        std::size_t variables;  // that were stored before it
        std::vector<value> values;
    };

    static ref<boxed> at(node& here, const std::string& id) { return {here, id}; }

    static std::optional<std::string> bytes_of(tx& t, node& here, const std::string& id) {
        const boxed* const now = at(here, id).find(t);
        if (now == nullptr) return std::nullopt;
        std::string bytes;
        now->encode(bytes);
        return bytes;
    }
    static void put(tx& t, const ref<boxed>& to, const std::optional<boxed>& what) {
        const bool exists = to.find(t) != nullptr;
        if (!what) {
            if (exists) to.erase(t);
        } else if (exists) {
            to.write(t) = *what;
        } else {
            to.publish(t, *what);
        }
    }
    /// How many of the objects before the last checkpoint are, up to the first that is not, what they were.
    [[nodiscard]] std::size_t count_valid(tx& t, node& here) const {
        const std::size_t count = points_.back().objects;
        std::vector<ref<boxed>> all;
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) all.push_back(at(here, objects_[i].id));
        prefetch(t, all);
        for (std::size_t i = 0; i < count; ++i) {
            if (bytes_of(t, here, objects_[i].id) != objects_[i].bytes) return i;
        }
        return count;
    }
    void forget() {
        objects_.clear();
        index_.clear();
        variables_.clear();
    }

    bool enabled_ = false;
    std::vector<object> objects_;  // in the order in which they were first touched
    std::map<std::string, std::size_t, std::less<>> index_;
    std::vector<std::function<void()>> variables_;
    std::vector<point> points_;
};

}  // namespace tutti::cluster::hyflow::detail
