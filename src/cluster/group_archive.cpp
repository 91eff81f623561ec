// Saves the objects of a group to a file, and restores them. The saved state was current at one moment during the call,
// although programs continue to run.
//
// The group is asked for its records piece by piece, and then for all writes since the first piece, until nothing is
// left. The result is the state at the version of the last answer. Each record is as a commit has written it, and the
// changes of every commit up to that version were applied (group_engine::list, group_engine::changed).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>

#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/layout.hpp"
#include "cluster/backend/replicated.hpp"
#include "cluster/backend/tries.hpp"
#include "cluster/engine_settings.hpp"
#include "cluster/replica/checksummed.hpp"
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/groups.hpp"

namespace tutti::cluster {
namespace archive {
namespace {

using backend::refusal;
using backend::verdict;
using records = std::map<backend::key, backend::record>;

constexpr std::string_view name_of_archive{"tutti objects"};
constexpr std::uint8_t format = 1;
constexpr std::size_t most_bytes = 1u << 20, most_records = 1000;  // per request
constexpr std::string_view scheme{"tutti:"};

std::unique_ptr<backend::group_engine> open(const engine_options& where) {
    const std::string_view address{where.address};
    const backend::settings how = settings_of(where);
    backend::check_address(where.address, how);
    if (!address.starts_with(scheme)) throw refusal{"'" + where.address + "' is no address of a group: tutti://…"};
    const auto groups = backend::group::parse_groups(address.substr(scheme.size()), how.tls.files.are_set());
    auto one = backend::open_group(groups.front(), how);
    const backend::layout all = backend::look_up_layout(*one);
    if (groups.size() > 1 || all.all.size() > 1) {
        throw refusal{"the objects of '" + how.prefix +
                      "' are in several groups, which have no state in common that could be kept: only the objects of "
                      "one group are"};
    }
    return one;
}

[[noreturn]] void refuse_silent(const backend::group_engine& g) { throw refusal{g.can().name + " does not answer"}; }

/// Reads the group's records once. Returns false if the group no longer knows all writes since the first request.
bool take_once(backend::group_engine& from, records& all, backend::version& at) {
    const backend::slot_set slots{1, {0}};
    all.clear();
    backend::listing place;
    std::vector<backend::change> some;
    const auto enter = [&] {
        for (backend::change& c : some) {
            if (!c.of.starts_with('o')) continue;
            backend::record& known = all[c.of];
            if (known.at <= c.is.at) known = std::move(c.is);
        }
        some.clear();
    };
    while (!place.over) {
        if (from.list(place, slots, some) != verdict::good) refuse_silent(from);
        enter();
    }
    for (place.over = false; !place.over;) {
        const verdict said = from.changed(place, slots, some);
        if (said == verdict::conflict) return false;
        if (said != verdict::good) refuse_silent(from);
        enter();
    }
    at = place.begun;
    std::erase_if(all, [](const auto& one) { return !one.second.exists; });
    return true;
}

records take(backend::group_engine& from, backend::version& at) {
    records all;
    for (int looks = 0; looks < 5; ++looks) {
        if (take_once(from, all, at)) return all;
    }
    throw refusal{from.can().name + " is written to faster than this can read: try again later"};
}

objects_facts facts_of(const records& all, backend::version at) {
    objects_facts said{all.size(), 0, at};
    for (const auto& [k, r] : all) said.bytes += r.bytes.size();
    return said;
}

[[noreturn]] void refuse_file(const std::string& file, int error) {
    throw refusal{file + " cannot be written: " + std::generic_category().message(error)};
}

/// Writes the file. The name refers either to the whole new file or to the former one.
void write_whole(const std::string& file, std::string_view bytes) {
    const std::string made = file + ".new";
    const int out = ::open(made.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) refuse_file(made, errno);
    int error = 0;
    while (!bytes.empty() && error == 0) {
        const ssize_t n = ::write(out, bytes.data(), bytes.size());
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR) error = errno;
    }
    if (error == 0 && ::fsync(out) != 0) error = errno;
    ::close(out);
    if (error == 0 && std::rename(made.c_str(), file.c_str()) != 0) error = errno;
    if (error == 0) return;
    std::remove(made.c_str());
    refuse_file(file, error);
}

records read_whole(const std::string& file, backend::version& at) {
    std::ifstream in{file, std::ios::binary};
    if (!in) throw refusal{file + " cannot be read"};
    std::ostringstream whole;
    whole << in.rdbuf();
    const std::string bytes = std::move(whole).str();
    std::string_view content;
    std::uint8_t is = 0;
    switch (replica::read_checksummed(bytes, name_of_archive, format, format, content, is)) {
        case replica::checksum_result::valid: break;
        case replica::checksum_result::other_content: throw refusal{file + " is not a snapshot of objects"};
        case replica::checksum_result::unsupported_format: throw refusal{file + " was written by another release"};
        case replica::checksum_result::damaged:
            throw refusal{file + " is damaged: its checksum is wrong. Nothing has been restored; use another copy"};
    }
    wire::reader from{content};
    std::uint64_t count = 0;
    records all;
    from(at), from(count);
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
        backend::group::told_record r;
        r.fields(from);
        all[r.of] = {r.is.exists, r.is.at, std::move(r.is.bytes)};
    }
    if (!from.is_valid() || all.size() != count) throw refusal{file + " is not a snapshot of objects"};
    return all;
}

void give(backend::group_engine& to, const std::vector<backend::change>& some, backend::version absence) {
    for (backend::tries all{std::chrono::seconds{20}};;) {
        backend::request r;
        to.adopt(r, some, absence);  // adopting records twice is harmless
        if (r.said == verdict::good) return;
        if (r.said == verdict::refused) throw refusal{r.why};
        if (!all.again()) refuse_silent(to);
    }
}

template <class Deed>
objects_facts carry_out(const engine_options& where, Deed&& deed) {
    try {
        return deed(*open(where));
    } catch (const refusal& r) {
        throw connection_error{std::string{"tutti: "} + r.what()};
    }
}

}  // namespace
}  // namespace archive

objects_facts save_objects(const engine_options& where, const std::string& file) {
    return archive::carry_out(where, [&](backend::group_engine& from) {
        backend::version at = 0;
        const archive::records all = archive::take(from, at);
        std::string bytes = replica::begin_checksummed(archive::name_of_archive, archive::format);
        wire::writer to{bytes};
        to(std::uint64_t{at}), to(static_cast<std::uint64_t>(all.size()));
        for (const auto& [k, r] : all) {
            backend::group::told_record one{k, {r.exists, r.at, r.bytes}};
            one.fields(to);
        }
        replica::finish_checksummed(bytes);
        archive::write_whole(file, bytes);
        return archive::facts_of(all, at);
    });
}

objects_facts restore_objects(const engine_options& where, const std::string& file) {
    return archive::carry_out(where, [&](backend::group_engine& to) {
        backend::version at = 0, now = 0;
        const archive::records all = archive::read_whole(file, at);
        if (!archive::take(to, now).empty()) {
            throw backend::refusal{to.can().name + " has objects of '" + where.prefix +
                                   "' already, which a restore would mix with those of the file: begin a new group"};
        }
        // A program that has read an object as absent does not take a restored one for the same (backend.hpp, B1).
        const backend::version absence = std::max(at, now) + 1;
        std::vector<backend::change> some;
        std::size_t bytes = 0;
        for (const auto& [k, r] : all) {
            some.push_back({k, r});
            bytes += k.size() + r.bytes.size();
            if (some.size() < archive::most_records && bytes < archive::most_bytes) continue;
            archive::give(to, some, absence);
            some.clear();
            bytes = 0;
        }
        if (!some.empty()) archive::give(to, some, absence);
        return archive::facts_of(all, at);
    });
}

objects_facts export_objects(const engine_options& where, const std::function<void(const exported_object&)>& tell) {
    return archive::carry_out(where, [&](backend::group_engine& from) {
        backend::version at = 0;
        const archive::records all = archive::take(from, at);
        for (const auto& [k, r] : all) tell({k.substr(1), r.at, r.bytes});
        return archive::facts_of(all, at);
    });
}

}  // namespace tutti::cluster
