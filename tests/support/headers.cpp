// Has no code of its own: carries the precompiled headers that test programs share.
