#include "cluster/replica/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::replica {

std::optional<std::string> read_whole(const std::string& file) {
    const auto fail = [&file](int error) {
        throw backend::engine_error{file + " cannot be read: " + std::generic_category().message(error)};
    };
    const int from = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        if (errno == ENOENT) return std::nullopt;
        fail(errno);
    }
    struct ::stat about{};
    int error = ::fstat(from, &about) == 0 ? 0 : errno;
    std::string bytes;
    if (error == 0) bytes.resize(static_cast<std::size_t>(about.st_size));
    std::size_t done = 0;
    while (error == 0 && done < bytes.size()) {
        const ::ssize_t n = ::pread(from, bytes.data() + done, bytes.size() - done, static_cast<::off_t>(done));
        if (n == 0) break;
        if (n > 0) done += static_cast<std::size_t>(n);
        else if (errno != EINTR) error = errno;
    }
    ::close(from);
    if (error != 0) fail(error);
    bytes.resize(done);
    return bytes;
}

void sync_folder_of(const std::string& file) {
    const std::filesystem::path parent = std::filesystem::path{file}.parent_path();
    const std::string name = parent.empty() ? "." : parent.string();
    const int folder = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = folder >= 0 && ::fsync(folder) == 0;
    const int error = errno;
    if (folder >= 0) ::close(folder);
    if (!good) throw backend::engine_error{name + " cannot be written: " + std::generic_category().message(error)};
}

}  // namespace tutti::cluster::replica
