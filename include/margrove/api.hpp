#pragma once
// What the library offers to those who link it. Namespaces are opened with MARGROVE_API in the
// public headers and nowhere else: what is declared there is visible in the shared library, and
// everything else is hidden.

#if defined(__GNUC__)
#define MARGROVE_API __attribute__((visibility("default")))
#else
#define MARGROVE_API
#endif
