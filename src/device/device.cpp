#include "device/device.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kernel/uapi.h"

namespace tutti::device {
namespace {

constexpr std::size_t page_bytes = 4096;  // all kernels that have the module use pages of this size

std::string error_text() { return std::strerror(errno); }

}  // namespace

int open(std::string& problem) {
    const int fd = ::open(TUTTI_DEVICE, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        problem = TUTTI_DEVICE " cannot be opened: " + error_text();
        return -1;
    }
    std::uint32_t version = 0;
    if (::ioctl(fd, TUTTI_VERSION, &version) != 0)
        problem = TUTTI_DEVICE " is not the device of the module tutti: " + error_text();
    else if (version != TUTTI_ABI) {
        problem = TUTTI_DEVICE " is of version " + std::to_string(version) + ", and this library needs version " +
                  std::to_string(TUTTI_ABI);
    }
    if (problem.empty()) return fd;
    ::close(fd);
    return -1;
}

void* map_page(int fd, long offset) noexcept {
    void* const page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return page == MAP_FAILED ? nullptr : page;
}

void unmap_page(void* page) noexcept { ::munmap(page, page_bytes); }

bool exists() noexcept { return ::access(TUTTI_DEVICE, F_OK) == 0; }

}  // namespace tutti::device
