// Certificates as docs/cluster.md and docs/cluster-replication.md make them, by the openssl command, and such as nobody
// should have.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tutti/cluster/node.hpp"

namespace tutti::strangers {

/// A folder with an authority, and the nodes 0 to 2, or such members of a group, and a program; removed at the end.
class certificates {
public:
    explicit certificates(const std::string& name, const std::string& cluster = "tutti",
                          const std::string& kind = "node")
        : folder{::testing::TempDir() + "tutti-" + name + "-" + std::to_string(::getpid())} {
        run(TUTTI_CERTIFICATES " '" + folder + "' 3 " + cluster + " " + kind);
    }
    ~certificates() { std::filesystem::remove_all(folder); }
    certificates(const certificates&) = delete;
    certificates& operator=(const certificates&) = delete;

    /// One more, of this authority, for the names and the time that the words say. Its files, without their ends.
    std::string sign(const std::string& name, const std::string& extensions,
                     const std::string& when = "-days 1") const {
        const std::string files = folder + "/" + name;
        run("cd '" + folder +
            "' && openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -subj /CN=x "
            "-keyout " +
            name + ".key -out x.csr && printf '" + extensions +
            "' >x.ext && "
            "openssl x509 -req -in x.csr -CA ca.pem -CAkey ca.key -CAcreateserial " +
            when + " -extfile x.ext -out " + name + ".pem");
        return files;
    }
    /// Over since a while.
    std::string sign_expired(const std::string& name, const std::string& dns) const {
        return sign(name, "subjectAltName=DNS:" + dns, "-days -1");
    }
    [[nodiscard]] std::string member(std::size_t number) const { return folder + "/member-" + std::to_string(number); }
    [[nodiscard]] std::string program() const { return folder + "/program"; }
    [[nodiscard]] std::string node(unsigned number) const { return folder + "/node-" + std::to_string(number); }
    [[nodiscard]] std::string authority() const { return folder + "/ca.pem"; }
    [[nodiscard]] cluster::tls_options options(const std::string& files) const {
        return {.certificate = files + ".pem", .key = files + ".key", .authority = authority()};
    }
    [[nodiscard]] cluster::tls_options options(unsigned number) const { return options(node(number)); }

    const std::string folder;

private:
    static void run(const std::string& command) {
        if (std::system(("(" + command + ") >/dev/null 2>&1").c_str()) != 0) throw std::runtime_error{command};
    }
};

}  // namespace tutti::strangers
