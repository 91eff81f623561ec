#include "cluster/engines/small_disk.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tutti::cluster::testing {

bool own_mounts() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWNS) != 0) {
        // A user without the right to mount gets it in a user namespace of its own, where its user id stays the same.
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
        const auto say = [](const char* file, const std::string& text) {
            return static_cast<bool>(std::ofstream{std::string{"/proc/self/"} + file} << text << std::flush);
        };
        if (!say("setgroups", "deny") || !say("uid_map", std::to_string(user) + " " + std::to_string(user) + " 1") ||
            !say("gid_map", std::to_string(group) + " " + std::to_string(group) + " 1"))
            return false;
    }
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

small_disk::small_disk(std::string folder, std::size_t megabytes)
    : folder_{std::move(folder)}, ballast_{folder_ + "/ballast"} {
    const std::string how = "mode=0777,size=" + std::to_string(megabytes) + "m";
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, how.c_str()) != 0)
        throw std::runtime_error{"no small file system can be mounted at " + folder_};
}

small_disk::~small_disk() { ::umount2(folder_.c_str(), MNT_DETACH); }

void small_disk::fill() const {
    const int to = ::open(ballast_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const std::vector<char> much(1u << 20);
    for (std::size_t piece = much.size(); piece >= 4096; piece /= 16) {
        while (::write(to, much.data(), piece) > 0) {}
    }
    ::close(to);
}

void small_disk::make_room() const { ::unlink(ballast_.c_str()); }

}  // namespace tutti::cluster::testing
