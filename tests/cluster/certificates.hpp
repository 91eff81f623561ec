// Makes certificates with the openssl command, as docs/cluster.md and docs/cluster-replication.md describe, and also
// invalid certificates.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tutti/cluster/node.hpp"

namespace tutti::strangers {

/// A folder with an authority, and certificates for nodes 0 to 2, or for three members of a group and a program. The
/// destructor removes the folder.
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

    /// Signs one more certificate with this authority, with these extensions and this validity. Returns the path of its
    /// files without the suffix.
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
    /// Signs a certificate that has already expired.
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
