# shellcheck shell=bash
# The begin of every test with a guest: if a requirement is missing, the test prints it and is skipped.

skip() {
    say "SKIPPED, nothing was tested: $*"
    exit 77
}

# with_packages <package>...: requires that all of them are installed.
with_packages() {
    local package
    for package in "$@"; do
        installed "$package" || skip "$package is not installed"
    done
}
