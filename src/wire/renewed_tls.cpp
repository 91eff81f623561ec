#include "wire/renewed_tls.hpp"

#include <sys/stat.h>

#include <utility>

#include "wire/refusal.hpp"

namespace tutti::wire {

// Both functions take the metadata before they read the files, so a change during the read causes another read.
renewed_tls::renewed_tls(tls_files files, std::vector<std::string> own_names)
    : files_{std::move(files)},
      own_names_{std::move(own_names)},
      seen_{look()},
      now_{std::make_shared<const tls>(files_, own_names_)} {}

renewed_tls::stamps renewed_tls::look() const {
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

std::shared_ptr<const tls> renewed_tls::current() {
    const std::lock_guard hold{guard_};
    if (const stamps are = look(); are != seen_) {
        try {
            now_ = std::make_shared<const tls>(files_, own_names_);
            trouble_.clear();
        } catch (const refusal& r) {
            trouble_ = r.what();
        }
        seen_ = are;
    }
    return now_;
}

std::string renewed_tls::trouble() const {
    const std::lock_guard hold{guard_};
    return trouble_;
}

}  // namespace tutti::wire
