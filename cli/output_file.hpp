// A file for results.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/program.hpp"

namespace cli {

/// A file that is opened before the work starts, so that an unwritable path is reported immediately.
class output_file {
public:
    /// With an empty path, there is no file and nothing is written. @throws command_line_error
    output_file(std::string option, std::string path) : option_{std::move(option)}, path_{std::move(path)} {
        if (path_.empty()) return;
        file_.reset(std::fopen(path_.c_str(), "w"));
        if (file_ == nullptr) throw command_line_error{why()};
    }

    [[nodiscard]] bool is_open() const noexcept { return file_ != nullptr; }
    /// REQUIRES: is_open(). @throws std::runtime_error
    void write(const std::string& text) {
        if (std::fputs(text.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) throw std::runtime_error{why()};
    }

private:
    struct closer {
        void operator()(std::FILE* f) const noexcept { std::fclose(f); }
    };
    [[nodiscard]] std::string why() const {
        return fmt::format("{}: {} cannot be written: {}", option_, path_, std::strerror(errno));
    }

    std::string option_;
    std::string path_;
    std::unique_ptr<std::FILE, closer> file_;
};

}  // namespace cli
