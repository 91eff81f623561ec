// The registered procedures, by name.
//
// Thread safety: one thread fills the catalog before the server starts; after that, any thread may read it.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tutti/server/procedure.hpp"

namespace tutti::server {

/// A procedure and its number. Procedures are numbered from 0, in the order of registration.
struct procedure_entry {
    std::size_t number;
    procedure definition;
};

/// The functions that dump the data of one name into a snapshot, and load the data from a snapshot.
struct snapshot_hooks {
    std::string name;
    std::function<void(snapshot_writer&)> dump;
    std::function<void(snapshot_reader&)> load;
};

class catalog final : public registry {
public:
    void add(procedure p) override;
    using registry::add;
    [[nodiscard]] std::string setting(std::string_view name, std::string_view otherwise) const override;
    void at_end(std::function<void()> f) override { end_callbacks_.push_back(std::move(f)); }
    void at_snapshot(std::string name, std::function<void(snapshot_writer&)> dump,
                     std::function<void(snapshot_reader&)> load) override;
    [[nodiscard]] cluster::node& cluster() const override;
    /// Sets the access to the cluster's objects; null means that there is no cluster. REQUIRES: no procedure is
    /// registered yet.
    void set_cluster(cluster_access* objects) noexcept { cluster_ = objects; }
    [[nodiscard]] const std::vector<snapshot_hooks>& all_snapshot_hooks() const noexcept { return snapshot_hooks_; }

    /// Loads a shared object permanently and lets it register its procedures. @throws registration_error  if the object
    /// is missing or broken, is not a Tutti object, or its registration fails
    void load(const std::string& path);
    /// Returns one address inside each loaded shared object.
    [[nodiscard]] const std::vector<const void*>& shared_objects() const noexcept { return shared_objects_; }

    /// Returns the highest default priority of all procedures.
    [[nodiscard]] int max_default_priority() const noexcept;

    void set(std::string name, std::string value) { settings_.insert_or_assign(std::move(name), std::move(value)); }
    /// Ends the registration, and adds the entry of EXEC, which runs several calls as one transaction. REQUIRES: called
    /// once.
    void close();
    /// Returns the entry of EXEC, or null before close().
    [[nodiscard]] const procedure_entry* exec_entry() const noexcept { return exec_entry_; }
    /// Returns the procedure with the name `name`, or null. Does not return the entry of EXEC.
    [[nodiscard]] const procedure_entry* find(std::string_view name) const noexcept;
    [[nodiscard]] const std::deque<procedure_entry>& all() const noexcept { return entries_; }
    [[nodiscard]] const std::vector<std::function<void()>>& end_callbacks() const noexcept { return end_callbacks_; }
    /// Returns the settings that no procedure has read. Their names are probably misspelt.
    [[nodiscard]] std::vector<std::string> unused_settings() const;

private:
    std::deque<procedure_entry> entries_;  // a deque, because the addresses of entries must not change
    std::map<std::string, const procedure_entry*, std::less<>> by_name_;
    std::map<std::string, std::string, std::less<>> settings_;
    mutable std::set<std::string, std::less<>> used_settings_;
    std::vector<std::function<void()>> end_callbacks_;
    std::vector<snapshot_hooks> snapshot_hooks_;
    std::vector<const void*> shared_objects_;
    const procedure_entry* exec_entry_ = nullptr;
    cluster_access* cluster_ = nullptr;
};

}  // namespace tutti::server
