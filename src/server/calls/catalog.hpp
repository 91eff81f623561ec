// The registered procedures, by name.
//
// Thread safety: one thread fills it before the server starts; then any thread reads it.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

/// A procedure and its number. Numbers begin at 0, in the order of registration.
struct entry {
    std::size_t number;
    procedure what;
};

/// The functions that dump and load the data of one name in a snapshot.
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
    /// Sets the access to the cluster's objects. Null: no cluster. REQUIRES: no procedure is registered yet.
    void share(cluster_access* objects) noexcept { objects_of_others_ = objects; }
    [[nodiscard]] const std::vector<kept_data>& kept() const noexcept { return kept_; }

    /// Loads a shared object permanently and lets it register its procedures. @throws registration_error  if the object
    /// is missing or broken, is not a Tutti object, or its registration fails
    void load(const std::string& path);
    /// Returns an address in each loaded shared object.
    [[nodiscard]] const std::vector<const void*>& objects() const noexcept { return objects_; }

    /// Returns the highest default priority of all procedures.
    [[nodiscard]] int most_urgent() const noexcept;

    void set(std::string name, std::string value) { settings_.insert_or_assign(std::move(name), std::move(value)); }
    /// Ends the registration, and adds the entry that stands for several calls that run as one transaction. REQUIRES:
    /// called once.
    void close();
    /// Returns that entry; null before close().
    [[nodiscard]] const entry* together() const noexcept { return together_; }
    /// Returns the procedure with this name, or null. Does not find together().
    [[nodiscard]] const entry* find(std::string_view name) const noexcept;
    [[nodiscard]] const std::deque<entry>& all() const noexcept { return entries_; }
    [[nodiscard]] const std::vector<std::function<void()>>& closing() const noexcept { return closing_; }
    /// Returns the settings that no procedure has asked for. They are probably misspelt.
    [[nodiscard]] std::vector<std::string> unused_settings() const;

private:
    std::deque<entry> entries_;  // a deque, because entries must keep their addresses
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
