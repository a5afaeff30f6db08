#pragma once
// MARGROVE_MULTIVERSION before a function compiles it for plain x86-64, AVX2 and AVX-512 and picks
// one when the program starts, so that one portable binary is fast everywhere. It is meant for
// small loops over plain arrays; what such a function calls must be inlined into it. Write
// reductions with `omp simd reduction(+ : sum)`, because the compiler may not reorder them
// otherwise. It does nothing under sanitizers, as resolvers run before a sanitizer is ready, and
// with clang 16, which cannot clone templates.

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(MARGROVE_SANITIZED)
#define MARGROVE_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MARGROVE_MULTIVERSION
#endif
