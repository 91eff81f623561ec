"""Tutti for Conan 2: the library, in C++20 and C. `conan create packaging/conan` from the root of the checkout."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class TuttiConan(ConanFile):
    name = "tutti"
    description = "Software transactional memory for C and C++20"
    license = "MIT"
    topics = ("transactional-memory", "concurrency", "stm")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": True, "fPIC": True}

    @property
    def root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        listed = load(self, os.path.join(self.root, "CMakeLists.txt"))
        self.version = re.search(r"project\(\s*tutti\s+VERSION\s+([0-9.]+)", listed, re.IGNORECASE).group(1)

    def export_sources(self):
        copy(self, "*", src=self.root, dst=self.export_sources_folder, excludes=("build/*", ".git/*", "debian/*"))

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Tutti runs on Linux: it stands on membarrier and futexes")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "BENCH", "APPS", "SERVER", "CLUSTER", "EXAMPLES"):
            toolchain.cache_variables["TUTTI_" + part] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "gdb"))  # gdb finds these files only by an absolute path

    def package_info(self):
        # Tutti's own CMake package already defines all targets, so Conan generates no CMake files.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "tutti")]
        self.cpp_info.libs = ["tutti"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("pkg_config_name", "tutti")
