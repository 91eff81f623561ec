#include "server/journal/machine_secret.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace tutti::server::journal {
namespace {

constexpr std::size_t random_bytes = 32, digits = 2 * random_bytes;

[[noreturn]] void fail(const std::string& what, const std::string& why) {
    throw std::runtime_error{"the secret of this machine's servers in " + what + " cannot be used: " + why};
}

[[noreturn]] void fail(const std::string& what) { fail(what, std::generic_category().message(errno)); }

class file {
public:
    file(const std::string& path, int flags) : number_{::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600)} {}
    ~file() {
        if (number_ != -1) ::close(number_);
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    [[nodiscard]] int get() const noexcept { return number_; }

private:
    const int number_;
};

/// Throws if another user owns `path` or has access to it. Otherwise another user could have created the folder or the
/// file first, in order to know its contents.
void require_own(const struct ::stat& of, const std::string& path) {
    if (of.st_uid != ::geteuid()) fail(path, "it belongs to another user");
    if ((of.st_mode & 077) != 0) fail(path, "other users may use it; chmod go= " + path);
}

std::string fresh() {
    unsigned char bytes[random_bytes];
    std::size_t have = 0;
    while (have < sizeof bytes) {
        const ::ssize_t got = ::getrandom(bytes + have, sizeof bytes - have, 0);
        if (got < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category(), "getrandom"};
        if (got > 0) have += static_cast<std::size_t>(got);
    }
    constexpr char of[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char b : bytes) text.append({of[b >> 4], of[b & 15]});
    return text;
}

/// Returns the contents, or an empty string if the file does not exist.
std::string read(const std::string& path) {
    const file from{path, O_RDONLY};
    if (from.get() == -1) {
        if (errno == ENOENT) return {};
        fail(path);
    }
    struct ::stat is{};
    if (::fstat(from.get(), &is) != 0) fail(path);
    require_own(is, path);
    std::string text(digits, '\0');
    if (::read(from.get(), text.data(), digits) != static_cast<::ssize_t>(digits))
        fail(path, "it is incomplete; remove it");
    return text;
}

/// Creates the file completely or not at all: link(2) gives a temporary file this name, and fails if another process
/// has already created the file.
void make(const std::string& path) {
    const std::string text = fresh();
    const std::string draft = path + '.' + text.substr(0, 16);
    {
        const file to{draft, O_WRONLY | O_CREAT | O_EXCL};
        if (to.get() == -1) fail(draft);
        if (::write(to.get(), text.data(), text.size()) != static_cast<::ssize_t>(text.size())) {
            const int error = errno;
            ::unlink(draft.c_str());
            errno = error;
            fail(draft);
        }
    }
    const bool is_made = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
    const int error = errno;
    ::unlink(draft.c_str());
    errno = error;
    if (!is_made) fail(path);
}

}  // namespace

std::string machine_secret_in(const std::string& folder) {
    struct ::stat is{};
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(folder);
    if (::lstat(folder.c_str(), &is) != 0) fail(folder);
    if (!S_ISDIR(is.st_mode)) fail(folder, "it is not a directory");
    require_own(is, folder);
    const std::string path = folder + "/tutti-replication";
    constexpr int attempts = 3;  // another process may remove the file between the two steps
    for (int i = 0; i < attempts; ++i) {
        if (std::string text = read(path); !text.empty()) return text;
        make(path);
    }
    fail(path, "it vanished repeatedly while it was opened");
}

std::string machine_secret() {
    const std::string user = std::to_string(::geteuid());
    const std::string usual = "/run/user/" + user;
    struct ::stat is{};
    const bool has_usual = ::lstat(usual.c_str(), &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == ::geteuid();
    return machine_secret_in(has_usual ? usual : "/tmp/tutti-" + user);
}

bool is_same_secret(std::string_view given, std::string_view secret) noexcept {
    if (secret.empty()) return false;
    std::size_t wrong = given.size() ^ secret.size();
    for (std::size_t i = 0; i < given.size(); ++i)
        wrong |= static_cast<unsigned char>(given[i] ^ secret[i % secret.size()]);
    return wrong == 0;
}

}  // namespace tutti::server::journal
