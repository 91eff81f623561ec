#include "wire/reloading_tls.hpp"

#include <sys/stat.h>

#include <utility>

#include "wire/wire_error.hpp"

namespace tutti::wire {

// Both functions read the files' metadata before the files, so a change during the read causes another read.
reloading_tls::reloading_tls(tls_files files, std::vector<std::string> own_names)
    : files_{std::move(files)},
      own_names_{std::move(own_names)},
      stamps_{read_stamps()},
      current_{std::make_shared<const tls>(files_, own_names_)} {}

reloading_tls::stamps reloading_tls::read_stamps() const {
    stamps all;
    std::size_t i = 0;
    for (const std::string* const file : {&files_.certificate, &files_.key, &files_.authority}) {
        struct stat is{};
        if (::stat(file->c_str(), &is) == 0) {
            all[i] = {is.st_ino, static_cast<std::uint64_t>(is.st_size), is.st_mtim.tv_sec, is.st_mtim.tv_nsec};
        }
        ++i;
    }
    return all;
}

std::shared_ptr<const tls> reloading_tls::current() {
    const std::lock_guard hold{guard_};
    if (const stamps are = read_stamps(); are != stamps_) {
        try {
            current_ = std::make_shared<const tls>(files_, own_names_);
            error_.clear();
        } catch (const wire_error& r) {
            error_ = r.what();
        }
        stamps_ = are;
    }
    return current_;
}

std::string reloading_tls::error() const {
    const std::lock_guard hold{guard_};
    return error_;
}

}  // namespace tutti::wire
