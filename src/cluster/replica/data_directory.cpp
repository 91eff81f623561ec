#include "cluster/replica/data_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/checksummed.hpp"

namespace tutti::cluster::replica {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "tutti member 2";
constexpr const char* first_line_before = "tutti member 1";  // a file without a checksum, of a folder without a
                                                             // durable_record

[[noreturn]] void refuse(const std::string& what, int error) {
    throw backend::engine_error{what + ": " + std::generic_category().message(error)};
}

std::string text_of(const identity& who, const std::string& state) {
    const std::string text = std::string{first_line} + "\nid " + std::to_string(who.id) + "\ngroup " +
                             std::to_string(who.group) + "\naddress " + who.address + "\nstate " + state + "\n" +
                             (who.listen.empty() ? "" : "listen " + who.listen + "\n");
    return text + "checksum " + std::to_string(checksum(text)) + "\n";
}

void write_through(const std::string& path, const std::string& text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) refuse(path + " cannot be written", errno);
    const bool good =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0;
    const int error = errno;
    ::close(file);
    if (!good) refuse(path + " cannot be written", error);
}

}  // namespace

data_directory::data_directory(std::string folder) : folder_{std::move(folder)} {
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (failed) refuse("the folder " + folder_ + " cannot be created", failed.value());
    lock_ = ::open((folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) refuse("the folder " + folder_ + " cannot be used", errno);
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        ::close(lock_);
        throw backend::engine_error{"another process uses the folder " + folder_ +
                                    ": give each member a folder of its own"};
    }
}

data_directory::data_directory(std::string folder, existing_only)
    : data_directory{fs::is_directory(folder) ? std::move(folder)
                                              : throw backend::engine_error{"there is no folder " + folder}} {}

data_directory::~data_directory() { ::close(lock_); }

bool data_directory::read_identity(identity& who) const {
    std::ifstream file{folder_ + "/member"};
    if (!file) {
        if (fs::exists(folder_ + "/member"))
            throw backend::engine_error{folder_ + "/member cannot be read: check its permissions"};
        if (std::error_code none; fs::exists(folder_ + "/log", none) && !fs::is_empty(folder_ + "/log", none)) {
            throw backend::engine_error{
                folder_ +
                "/member is missing, although there is a log: restore it from a copy, or begin with an "
                "empty folder, join as a new member, and remove the old one"};
        }
        return false;
    }
    std::ostringstream text;
    text << file.rdbuf();
    std::istringstream in{text.str()};
    std::string line, state;
    std::getline(in, line);
    std::string word_id, word_group, word_address, word_state;
    in >> word_id >> who.id >> word_group >> who.group >> word_address >> who.address >> word_state >> state;
    const bool is_read = static_cast<bool>(in);
    if (std::string word; in >> word && word == "listen") in >> who.listen;
    who.has_durable_record = line == first_line;
    if ((!who.has_durable_record && line != first_line_before) || !is_read || who.id == 0 || who.group == 0 ||
        (state != "member" && state != "founding") || (who.has_durable_record && text.str() != text_of(who, state))) {
        throw backend::engine_error{folder_ +
                                    "/member is damaged, or another release has written it: restore it from a copy, or "
                                    "begin with an empty folder, join as a new member, and remove the old one"};
    }
    who.is_founding = state == "founding";
    return true;
}

void data_directory::write_identity(const identity& who) const {
    replace_file(folder_ + "/member", text_of(who, who.is_founding ? "founding" : "member"));
}

std::string data_directory::log_folder() const {
    const std::string path = folder_ + "/log";
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed) refuse("the folder " + path + " cannot be created", failed.value());
    return path;
}

void data_directory::clear_log() const {
    std::error_code failed;
    fs::remove_all(folder_ + "/log", failed);
    if (failed) refuse("the folder " + folder_ + "/log cannot be emptied", failed.value());
}

void replace_file(const std::string& name, const std::string& text) {
    const std::string made = name + ".new", folder = fs::path{name}.parent_path().string();
    write_through(made, text);
    if (::rename(made.c_str(), name.c_str()) != 0) refuse(name + " cannot be written", errno);
    const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = opened >= 0 && ::fsync(opened) == 0;
    const int error = errno;
    if (opened >= 0) ::close(opened);
    if (!good) refuse(folder + " cannot be written", error);
}

std::uint64_t random_number() {
    std::uint64_t drawn = 0;
    // An id has 63 bits, because some programs print numbers with a sign.
    while (drawn == 0) {
        if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) continue;
        drawn >>= 1;
    }
    return drawn;
}

}  // namespace tutti::cluster::replica
