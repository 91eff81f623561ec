/// @file
/// The state that a block of HyflowCPP records at its checkpoints, so that the block can continue at the last valid
/// checkpoint.
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
/// A conflict over an object ends the whole attempt. The next attempt opens, in one round trip, all objects that the
/// block had used before its last checkpoint, and compares each object with the recorded value. The block then
/// continues at the last checkpoint for which no object used before it has changed. The writes that the block made
/// before that checkpoint are repeated (HyflowCPP, 5.3: each object belongs to the checkpoint after which it was first
/// used). The actions of a block before a checkpoint depend only on the objects that it has used there. If these
/// objects are equal, the block would take the same actions again. So comparing values is as safe as comparing versions
/// (as in NOrec: Dalessandro, Spear, Scott, PPoPP 2010). The compared objects are in the attempt's read set, and the
/// attempt validates them like every read.
///
/// A conflict inside a nested block may roll back that block alone, which then runs again in the same attempt. The
/// values that its previous run read must not be used for a later comparison. The object may have changed before the
/// nested block ran again, and may have its old value again when the attempt ends. The block, however, has used the
/// value in between (ABA). So a nested block that runs again makes the outer blocks forget the objects that its
/// previous run reported.
class checkpoints {
public:
    void enable() noexcept { enabled_ = true; }
    [[nodiscard]] bool enabled() const noexcept { return enabled_; }

    /// Records an object. REQUIRES: the block has not changed the object yet.
    void record_use(tx& t, node& here, const std::string& id) {
        if (!enabled_ || index_.contains(id)) return;
        object fresh{id, bytes_of(t, here, id), false};  // may restart the block, so it precedes every change here
        objects_.push_back(std::move(fresh));
        index_.emplace(id, objects_.size() - 1);
    }
    void record_write(const std::string& id) {
        if (enabled_) objects_.at(index_.at(id)).written = true;
    }
    /// Returns the number of recorded objects.
    [[nodiscard]] std::size_t known() const noexcept { return objects_.size(); }
    /// Forgets the objects that were first used by the previous run of a nested block. That block began when `known`
    /// objects were recorded. REQUIRES: no checkpoint since then.
    void forget_since(std::size_t known) {
        for (std::size_t i = known; i < objects_.size(); ++i) index_.erase(objects_[i].id);
        if (known < objects_.size())
            objects_.erase(objects_.begin() + static_cast<std::ptrdiff_t>(known), objects_.end());
    }
    /// Records the objects of a nested block that continues at its own checkpoint, because the outer block has used
    /// these objects, too.
    void adopt(const checkpoints& nested) {
        if (!enabled_) return;
        for (const object& o : nested.objects_) {
            if (const auto [at, is_new] = index_.try_emplace(o.id, objects_.size()); is_new) objects_.push_back(o);
            else if (o.written) objects_[at->second].written = true;
        }
    }
    /// Adds a variable. `restore` sets the variable back to its present value.
    void variable(std::function<void()> restore) { variables_.push_back(std::move(restore)); }

    /// Sets a checkpoint: from here on, the block can continue at `line`.
    void set(tx& t, node& here, int line) {
        point p{line, objects_.size(), variables_.size(), {}};
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            if (!objects_[i].written) continue;
            const boxed* const now = at(here, objects_[i].id).find(t);
            p.values.push_back({i, now != nullptr ? std::optional<boxed>{*now} : std::nullopt});
        }
        points_.push_back(std::move(p));
    }

    /// Restores the state of the last valid checkpoint. Returns its line, or 0 for the beginning of the block.
    /// REQUIRES: the attempt has not used any object yet.
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
        std::optional<std::string> bytes;  // value at the first use; nullopt: the object did not exist
        bool written = false;
    };
    struct value {
        std::size_t of;
        std::optional<boxed> what;
    };
    struct point {
        int line;
        std::size_t objects;    // number of objects used before the checkpoint
        std::size_t variables;  // number of variables stored before the checkpoint
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
    /// Returns how many of the objects before the last checkpoint, counted from the first, have kept their values.
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
    std::vector<object> objects_;  // in the order of the first use
    std::map<std::string, std::size_t, std::less<>> index_;
    std::vector<std::function<void()>> variables_;
    std::vector<point> points_;
};

}  // namespace tutti::cluster::hyflow::detail
