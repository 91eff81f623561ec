#include "server/journal/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "server/journal/log_store.hpp"

namespace tutti::server::journal {
namespace {

class descriptor {
public:
    descriptor(const std::string& of, int flags) : of_{of}, number_{::open(of.c_str(), flags | O_CLOEXEC)} {
        if (number_ == -1) fail("be opened");
    }
    ~descriptor() { ::close(number_); }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;

    void synchronize() const {
        if (::fsync(number_) != 0) fail("be written to the disk");
    }
    void have_owner_and_mode(const struct ::stat& as) const {
        // Only root may give a file to another user. Without this right, the new file keeps its owner.
        if (::fchown(number_, as.st_uid, as.st_gid) != 0 && errno != EPERM) fail("have the owner of the old file");
        if (::fchmod(number_, as.st_mode & 07777) != 0) fail("have the mode of the old file");
    }

private:
    [[noreturn]] void fail(const std::string& doing) const {
        throw log_store_error{of_ + " cannot " + doing + ": " + std::generic_category().message(errno), true};
    }

    const std::string of_;
    const int number_;
};

}  // namespace

void make_with_mode(const std::string& file, ::mode_t mode) noexcept {
    const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (made != -1) ::close(made);
}

void synchronize_folder_of(const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path{file}.parent_path();
    descriptor{folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY}.synchronize();
}

void replace_file(const std::string& file, const std::string& replacement) {
    {
        const descriptor written{replacement, O_RDWR};
        struct ::stat as{};
        if (::stat(file.c_str(), &as) == 0) written.have_owner_and_mode(as);
        written.synchronize();
    }
    if (std::rename(replacement.c_str(), file.c_str()) != 0) {
        throw log_store_error{replacement + " cannot be named " + file + ": " + std::generic_category().message(errno),
                              true};
    }
    synchronize_folder_of(file);
}

}  // namespace tutti::server::journal
