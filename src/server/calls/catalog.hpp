// The procedures that there are, by name.
//
// Thread safety: filled by one thread before the server starts; then read by all.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

/// A procedure and its number, from 0 on, in the order of registration.
struct entry {
    std::size_t number;
    procedure what;
};

/// What a snapshot holds under a name.
struct kept_data {
    std::string name;
    std::function<void(snapshot_writer&)> dump;
    std::function<void(snapshot_reader&)> load;
};

class catalog final : public registry {
public:
    void add(procedure p) override;
    using registry::add;
    [[nodiscard]] std::string setting(std::string_view name, std::string_view otherwise) const override;
    void at_end(std::function<void()> f) override { closing_.push_back(std::move(f)); }
    void at_snapshot(std::string name, std::function<void(snapshot_writer&)> dump,
                     std::function<void(snapshot_reader&)> load) override;
    [[nodiscard]] cluster::node& cluster() const override;
    /// Before procedures are registered. Null: there is none.
    void share(cluster_access* objects) noexcept { objects_of_others_ = objects; }
    [[nodiscard]] const std::vector<kept_data>& kept() const noexcept { return kept_; }

    /// Loads a shared object for good and lets it register its procedures.
    /// @throws registration_error  when it is missing or broken, is not one of ours, or its registration fails
    void load(const std::string& path);
    /// An address in each shared object that was loaded.
    [[nodiscard]] const std::vector<const void*>& objects() const noexcept { return objects_; }

    /// The highest priority that a procedure has of itself.
    [[nodiscard]] int most_urgent() const noexcept;

    void set(std::string name, std::string value) { settings_.insert_or_assign(std::move(name), std::move(value)); }
    /// No more are registered; adds what stands for several calls that run as one transaction. Once.
    void close();
    /// Null before close().
    [[nodiscard]] const entry* together() const noexcept { return together_; }
    /// Null also for together().
    [[nodiscard]] const entry* find(std::string_view name) const noexcept;
    [[nodiscard]] const std::deque<entry>& all() const noexcept { return entries_; }
    [[nodiscard]] const std::vector<std::function<void()>>& closing() const noexcept { return closing_; }
    /// Settings that no procedure has asked for: most likely misspelt.
    [[nodiscard]] std::vector<std::string> unused_settings() const;

private:
    std::deque<entry> entries_;  // whose addresses stay
    std::map<std::string, const entry*, std::less<>> by_name_;
    std::map<std::string, std::string, std::less<>> settings_;
    mutable std::set<std::string, std::less<>> asked_;
    std::vector<std::function<void()>> closing_;
    std::vector<kept_data> kept_;
    std::vector<const void*> objects_;
    const entry* together_ = nullptr;
    cluster_access* objects_of_others_ = nullptr;
};

}  // namespace tutti::server
