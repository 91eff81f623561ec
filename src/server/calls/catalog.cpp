#include "server/calls/catalog.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <optional>

#include "server/calls/object_file.hpp"
#include "server/calls/words.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {
namespace {

bool is_printable(char c) noexcept { return c > ' ' && c < 127; }

}  // namespace

void catalog::add(procedure p) {
    if (p.name.empty() || p.name.size() > 100 || !std::ranges::all_of(p.name, is_printable)) {
        throw registration_error{"the name of procedure '" + p.name +
                                 "' must be 1 to 100 printable characters without blanks"};
    }
    if (is_call_option(p.name))
        throw registration_error{"procedure '" + p.name + "' has the name of an option of CALL"};
    if (by_name_.contains(p.name)) throw registration_error{"procedure '" + p.name + "' is registered twice"};
    if (p.options.priority < 0 || p.options.priority > highest_priority) {
        throw registration_error{"the priority of procedure '" + p.name + "' is " + std::to_string(p.options.priority) +
                                 ", which is not from 0 to " + std::to_string(highest_priority)};
    }
    if (p.options.max_client_priority < 0 || p.options.max_client_priority > highest_priority) {
        throw registration_error{"the maximum priority that clients may set for procedure '" + p.name + "' is " +
                                 std::to_string(p.options.max_client_priority) + ", which is not from 0 to " +
                                 std::to_string(highest_priority)};
    }
    if (p.options.deadline.count() < 0 || p.options.time_limit.count() < 0)
        throw registration_error{"the deadline or time limit of procedure '" + p.name + "' is negative"};
    if (p.options.deadline > max_duration || p.options.time_limit > max_duration)
        throw registration_error{"the deadline or time limit of procedure '" + p.name + "' is longer than 100 years"};
    const procedure_entry& added = entries_.emplace_back(entries_.size(), std::move(p));
    by_name_.emplace(added.definition.name, &added);
}

void catalog::close() {
    procedure all{
        .name = "EXEC", .options = {}, .min_arguments = 0, .max_arguments = 0, .body = {}};  // its parts run instead
    exec_entry_ = &entries_.emplace_back(entries_.size(), std::move(all));
}

void catalog::at_snapshot(std::string name, std::function<void(snapshot_writer&)> dump,
                          std::function<void(snapshot_reader&)> load) {
    if (name.empty() || dump == nullptr || load == nullptr)
        throw registration_error{"at_snapshot needs a name, a function that dumps and one that loads"};
    for (const snapshot_hooks& k : snapshot_hooks_) {
        if (k.name == name) throw registration_error{"the data '" + name + "' are in the snapshot twice"};
    }
    snapshot_hooks_.push_back({std::move(name), std::move(dump), std::move(load)});
}

cluster::node& catalog::cluster() const {
    if (cluster_ == nullptr) {
        throw registration_error{
            "these procedures use objects of a cluster, and the server is not on a cluster node: give tutti serve "
            "--cluster and "
            "the configuration of its node (settings::cluster in a program)"};
    }
    return cluster_->node();
}

std::string catalog::setting(std::string_view name, std::string_view otherwise) const {
    used_settings_.emplace(name);
    const auto found = settings_.find(name);
    return found == settings_.end() ? std::string{otherwise} : found->second;
}

std::vector<std::string> catalog::unused_settings() const {
    std::vector<std::string> unused;
    for (const auto& [name, value] : settings_) {
        if (!used_settings_.contains(name)) unused.push_back(name);
    }
    return unused;
}

const procedure_entry* catalog::find(std::string_view name) const noexcept {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

int catalog::max_default_priority() const noexcept {
    int highest = 0;
    for (const procedure_entry& e : entries_) highest = std::max(highest, e.definition.options.priority);
    return highest;
}

void catalog::load(const std::string& path) {
    // Adds a slash to the path, because without a slash the dynamic linker would search its own folders instead of the
    // current one.
    const std::string where = path.find('/') == std::string::npos ? "./" + path : path;
    // The object is checked before it is loaded, because loading runs the initializers of static variables, which
    // already call the library.
    if (const std::optional<std::string> why = find_incompatibility(where)) throw registration_error{path + *why};
    // The object is never unloaded, because procedures, and exceptions in flight, refer to its code.
    void* const handle = ::dlopen(where.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw registration_error{path + " cannot be loaded: " + ::dlerror()};
    auto* const register_all = reinterpret_cast<void (*)(registry*)>(::dlsym(handle, entry_symbol));
    const auto* const layout = static_cast<const detail::object_layout*>(::dlsym(handle, layout_symbol));
    if (const auto why = find_incompatibility(layout, register_all != nullptr)) throw registration_error{path + *why};
    shared_objects_.push_back(reinterpret_cast<const void*>(register_all));
    try {
        register_all(this);
    } catch (const std::exception& e) {
        throw registration_error{path + ": " + e.what()};
    }
}

}  // namespace tutti::server
