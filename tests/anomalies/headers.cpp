// Nothing of its own: carries the precompiled headers that the suites share.
